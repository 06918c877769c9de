#include "tokenizer/models/sentencepiece_bpe.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/normalize/simple_normalizers.h"
#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using Entry = SentencePieceModel::Entry;
using Type = SentencePieceModel::Type;

constexpr std::string_view kVisibleSpace = "\xE2\x96\x81";
// The limit for the size of a piece. add_merges() looks up every way to cut a piece in two, which
// takes quadratic time in the size of the piece.
constexpr size_t kMaxPieceBytes = 1024;

// Returns the size of the first code point in bytes, or 0 if `text` does not begin with valid
// UTF-8.
size_t first_size(std::string_view text) {
  const unicode::Decoded d = unicode::decode(text.data(), text.data() + text.size());
  return d.code_point == 0xFFFD && d.size == 1 ? 0 : d.size;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = first_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool is_character(std::string_view text) { return first_size(text) == text.size(); }

// Returns true if this module treats the piece as the library does. This is not the case for unused
// pieces, and for pieces of one character that are neither normal nor user-defined.
bool is_plain(const Entry& entry) {
  if (entry.piece.size() > kMaxPieceBytes || !is_utf8(entry.piece)) return false;
  const bool looked_for = entry.type == Type::kNormal || entry.type == Type::kUserDefined;
  return entry.type != Type::kUnused && (looked_for || !is_character(entry.piece));
}

class Builder {
 public:
  explicit Builder(const SentencePieceModel& model) : model_(model) {}

  // Returns false if the model has a piece that this module does not support.
  bool build() {
    return std::all_of(model_.entries.begin(), model_.entries.end(), is_plain) && add_pieces() &&
           add_merges();
  }

  PipelineParts parts(const RowForm& form) {
    PipelineParts parts;
    std::vector<std::unique_ptr<Normalizer>> steps;
    if (model_.add_dummy_prefix)
      steps.push_back(make_prepend_normalizer(std::string(kVisibleSpace)));
    steps.push_back(make_replace_byte_normalizer(' ', std::string(kVisibleSpace)));
    parts.normalizer = make_normalizer_sequence(std::move(steps));
    parts.model = make_bpe(vocabulary_, merges_, std::move(options_));
    parts.row_form = form;
    parts.normalized_tokens = AddedTokenFinder(std::move(user_defined_));
    std::vector<std::string_view> spellings;
    for (const Entry& entry : model_.entries) spellings.push_back(entry.piece);
    parts.tokens = TokenSpellings(spellings);
    return parts;
  }

 private:
  bool add_pieces() {
    options_.byte_fallback = model_.byte_fallback;
    options_.fuse_unk = true;
    size_t bytes = 0;
    for (size_t i = 0; i < model_.entries.size(); ++i) {
      const Entry& entry = model_.entries[i];
      const auto id = static_cast<int32_t>(i);
      if (entry.type == Type::kNormal && !vocabulary_.add(entry.piece, id)) return false;
      if (entry.type == Type::kByte && model_.byte_fallback) {
        if (!vocabulary_.add(entry.piece, id)) return false;
        ++bytes;
      }
      if (entry.type == Type::kUserDefined)
        user_defined_.emplace_back(entry.piece, AddedToken{.id = id, .content = {}});
      if (entry.type == Type::kUnknown) options_.unk_id = id;
    }
    std::array<int32_t, 256> byte_ids{};
    const bool has_bytes = bytes == 256 && find_byte_tokens(vocabulary_, byte_ids) == 256;
    return options_.unk_id >= 0 && (has_bytes || !model_.byte_fallback);
  }

  // Adds a merge for each pair of pieces that together spell a third piece. The higher the score of
  // the third piece, the lower is the rank of the merge. Returns false if a character of a piece is
  // not a piece itself.
  bool add_merges() {
    std::vector<float> scores;
    for (const Entry& entry : model_.entries) {
      if (entry.type != Type::kNormal) continue;
      const int32_t id = vocabulary_.find(entry.piece);
      for (size_t at = 0; at < entry.piece.size();) {
        const std::string_view right = entry.piece.substr(at);
        const size_t size = first_size(right);
        // A character without a piece has no id that could be merged.
        if (!is_known(right.substr(0, size))) return false;
        const int32_t left_id = find_normal(entry.piece.substr(0, at));
        const int32_t right_id = find_normal(right);
        if (left_id >= 0 && right_id >= 0) {
          merges_.push_back({left_id, right_id, id});
          scores.push_back(entry.score);
        }
        at += size;
      }
    }
    rank(scores);
    return true;
  }

  // Sets the ranks of the merges from their scores. Equal scores give equal ranks. BPE merges the
  // leftmost of several pairs with equal ranks first, as sentencepiece does.
  void rank(const std::vector<float>& scores) {
    std::vector<float> order = scores;
    std::sort(order.begin(), order.end(), std::greater<>());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    for (const float score : scores) {
      const auto place = std::lower_bound(order.begin(), order.end(), score, std::greater<>());
      options_.merge_ranks.push_back(static_cast<uint32_t>(place - order.begin()));
    }
  }

  int32_t find_normal(std::string_view piece) const {
    const int32_t id = vocabulary_.find(piece);
    return id >= 0 && type_of(id) == Type::kNormal ? id : -1;
  }
  Type type_of(int32_t id) const { return model_.entries[static_cast<size_t>(id)].type; }
  bool is_known(std::string_view character) const {
    return find_normal(character) >= 0 || is_user_defined(character);
  }
  bool is_user_defined(std::string_view character) const {
    return std::any_of(user_defined_.begin(), user_defined_.end(),
                       [&](const auto& token) { return token.first == character; });
  }

  const SentencePieceModel& model_;
  Vocabulary vocabulary_;  // the normal pieces and the byte pieces
  std::vector<BpeMerge> merges_;
  BpeOptions options_;
  std::vector<std::pair<std::string, AddedToken>> user_defined_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_bpe(const SentencePieceModel& model,
                                                  const RowForm& form) {
  const bool spaces_only = model.charsmap.empty() && !model.remove_extra_whitespaces &&
                           model.escape_whitespaces && !model.whitespace_as_suffix;
  if (model.kind != SentencePieceModel::Kind::kBpe || !spaces_only) return nullptr;
  Builder builder(model);
  if (!builder.build()) return nullptr;
  PipelineParts parts = builder.parts(form);
  parts.description = fmt::format("sentencepiece BPE, {} tokens", model.entries.size());
  return make_pipeline(std::move(parts));
}

}  // namespace encode
