#include "tokenizer/load/sentencepiece_merges.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// The limit for the sum of the squares of the sizes of all pieces. Each way to cut a piece hashes
// all its bytes. A vocabulary of 256,000 pieces has about 20 million.
constexpr size_t kMaxWork = size_t{1} << 30;

struct Cut {
  BpeMerge merge;
  double score;
  int32_t left_order;  // ids in the .model file
  int32_t right_order;
  uint32_t left_length;  // in code points
  uint32_t right_length;
};

void check_work(const std::vector<ScoredPiece>& pieces, const std::string& where) {
  size_t work = 0;
  for (const ScoredPiece& piece : pieces) work += piece.piece.size() * piece.piece.size();
  if (work > kMaxWork)
    refuse_unsupported(
        "the pieces of the model are too long to find its merges", where,
        {.expected = fmt::format("squares of their sizes of at most {} in all", kMaxWork),
         .found = fmt::to_string(work)});
}

std::vector<size_t> character_starts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size();) {
    starts.push_back(at);
    at += unicode::decode(text.data() + at, text.data() + text.size()).size;
  }
  return starts;
}

class Cutter {
 public:
  Cutter(const Vocabulary& vocabulary, const Vocabulary& file_ids, const std::string& where)
      : vocabulary_(vocabulary), file_ids_(file_ids), where_(where) {}

  void cut(const ScoredPiece& piece) {
    const std::string_view text = piece.piece;
    const std::vector<size_t> starts = character_starts(text);
    const size_t first = cuts_.size();
    for (size_t i = 1; i < starts.size(); ++i) {
      const std::string_view left = text.substr(0, starts[i]);
      const std::string_view right = text.substr(starts[i]);
      const int32_t left_order = file_ids_.find(left);
      const int32_t right_order = left_order < 0 ? -1 : file_ids_.find(right);
      if (right_order < 0) continue;
      cuts_.push_back({.merge = {id(left), id(right), id(text)},
                       .score = piece.score,
                       .left_order = left_order,
                       .right_order = right_order,
                       .left_length = static_cast<uint32_t>(i),
                       .right_length = static_cast<uint32_t>(starts.size() - i)});
    }
    std::stable_sort(
        cuts_.begin() + static_cast<ptrdiff_t>(first), cuts_.end(), [](const Cut& a, const Cut& b) {
          return std::pair(a.left_order, a.right_order) < std::pair(b.left_order, b.right_order);
        });
  }

  std::vector<BpeMerge> merges() {
    std::stable_sort(cuts_.begin(), cuts_.end(), [](const Cut& a, const Cut& b) {
      return std::tuple(a.score, a.left_length, a.right_length) >
             std::tuple(b.score, b.left_length, b.right_length);
    });
    std::vector<BpeMerge> merges;
    merges.reserve(cuts_.size());
    for (const Cut& cut : cuts_) merges.push_back(cut.merge);
    return merges;
  }

 private:
  int32_t id(std::string_view token) const {
    const int32_t found = vocabulary_.find(token);
    if (found < 0)
      refuse_format("a merge needs a piece that the vocabulary does not have", where_,
                    "all pieces in the vocabulary", quoted_token(token));
    return found;
  }

  const Vocabulary& vocabulary_;
  const Vocabulary& file_ids_;
  const std::string& where_;
  std::vector<Cut> cuts_;
};

}  // namespace

std::vector<BpeMerge> sentencepiece_merges(const std::vector<ScoredPiece>& pieces,
                                           const Vocabulary& vocabulary, const Vocabulary& file_ids,
                                           const std::string& where) {
  check_work(pieces, where);
  Cutter cutter(vocabulary, file_ids, where);
  for (const ScoredPiece& piece : pieces) cutter.cut(piece);
  return cutter.merges();
}

}  // namespace encode
