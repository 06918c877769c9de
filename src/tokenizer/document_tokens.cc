#include "tokenizer/document_tokens.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

constexpr const char* kHint =
    "save the model with PyLate, which adds the tokens of its prefixes to the tokenizer and to the "
    "model, or correct config_sentence_transformers.json";

// Puts a marker after the first token of every text.
class MarkedTokenizer final : public Tokenizer {
 public:
  MarkedTokenizer(std::unique_ptr<Tokenizer> tokenizer, int32_t marker)
      : tokenizer_(std::move(tokenizer)), marker_(marker) {}

  void encode(std::string_view utf8, const TokenizeOptions& options,
              TokenizedRows& rows) const override {
    tokenizer_->encode(utf8, with_room(options), rows);
    insert_marker(rows);
  }

  void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                           TokenizedRows& rows, std::vector<TokenOffset>& offsets) const override {
    tokenizer_->encode_with_offsets(utf8, with_room(options), rows, offsets);
    const int64_t after = insert_marker(rows);
    offsets.insert(offsets.end() - after, TokenOffset{});
  }

  int64_t vocab_size() const override { return tokenizer_->vocab_size(); }
  std::string description() const override {
    return fmt::format("{}, marker '{}'", tokenizer_->description(), preview(token(marker_)));
  }
  std::string token(int32_t id) const override { return tokenizer_->token(id); }
  // As in PyLate, the marker has the type 0.
  RowTypeIds type_ids() const override {
    RowTypeIds types = tokenizer_->type_ids();
    if (!types.before.empty()) types.before.insert(types.before.begin() + 1, 0);
    return types;
  }
  bool is_special(int32_t id) const override { return id == marker_ || tokenizer_->is_special(id); }

 private:
  static TokenizeOptions with_room(TokenizeOptions options) {
    if (options.max_length > 1) --options.max_length;
    return options;
  }

  // Puts the marker into the last row. Returns the number of tokens after it.
  int64_t insert_marker(TokenizedRows& rows) const {
    const int64_t begin = rows.offsets[rows.offsets.size() - 2];
    int64_t& end = rows.offsets.back();
    const int64_t place = std::min(begin + 1, end);
    rows.ids.insert(rows.ids.begin() + place, marker_);
    ++end;
    return end - place - 1;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  int32_t marker_;
};

// Returns the ids of the tokens that the vocabulary has.
std::map<std::string, int32_t> find_ids(const Tokenizer& tokenizer,
                                        const std::vector<std::string>& tokens) {
  std::map<std::string, int32_t> ids;
  for (const std::string& token : tokens) {
    if (!token.empty()) ids.emplace(token, -1);
  }
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto wanted = ids.find(tokenizer.token(id));
    if (wanted != ids.end() && wanted->second < 0) wanted->second = id;
  }
  std::erase_if(ids, [](const auto& item) { return item.second < 0; });
  return ids;
}

// Returns the id of the marker. `folder` is the folder of the tokenizer, for messages.
int32_t marker_id(const ModelDirectory& directory, const Tokenizer& tokenizer,
                  const std::string& folder) {
  const std::string& marker = directory.late_interaction->marker;
  const std::map<std::string, int32_t> ids = find_ids(tokenizer, {marker});
  if (ids.empty()) {
    throw Error({.code = "tokenizer.late_interaction",
                 .what = "the tokenizer does not have the document_prefix of the model",
                 .where = folder,
                 .expected = "a document_prefix that is one token of the tokenizer",
                 .found = fmt::format("'{}'", preview(marker)),
                 .hint = kHint});
  }
  const int32_t id = ids.begin()->second;
  if (id < directory.vocab_size) return id;
  throw Error({.code = "tokenizer.late_interaction",
               .what = "the model does not have the token of its document_prefix",
               .where = folder,
               .expected = fmt::format("an id of 0 to {}", directory.vocab_size - 1),
               .found = fmt::format("id {} for '{}'", id, preview(marker)),
               .hint = kHint});
}

}  // namespace

std::unique_ptr<Tokenizer> load_document_tokenizer(TokenizerSource source,
                                                   const ModelDirectory& directory) {
  const std::string folder = source.folder;
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer_from(std::move(source));
  if (!directory.late_interaction || directory.late_interaction->marker.empty()) return tokenizer;
  const int32_t marker = marker_id(directory, *tokenizer, folder);
  return std::make_unique<MarkedTokenizer>(std::move(tokenizer), marker);
}

ErrorDetail texts_without_tokenizer(const std::string& model_path) {
  return {.code = "tokenizer.file",
          .what = "the input has texts, but the model has no tokenizer",
          .where = model_path,
          .expected = "tokenizer.json, or a sentencepiece model",
          .found = "no such file",
          .hint = "download the whole model directory again"};
}

std::vector<int32_t> skip_list_ids(const LateInteraction& late, const Tokenizer& tokenizer,
                                   const std::string& where) {
  if (late.skip_words.empty()) return {};
  std::vector<std::string> tokens = late.skip_words;
  tokens.push_back(late.unknown_token);
  const std::map<std::string, int32_t> known = find_ids(tokenizer, tokens);
  const auto unknown = known.find(late.unknown_token);
  std::vector<int32_t> ids;
  for (const std::string& word : late.skip_words) {
    const auto found = known.find(word);
    if (found == known.end() && unknown == known.end()) {
      throw Error({.code = "tokenizer.late_interaction",
                   .what = "the tokenizer does not have one of the skiplist_words of the model",
                   .where = where,
                   .expected = "tokens of the tokenizer, or an unk_token in tokenizer_config.json "
                               "that takes their place",
                   .found = fmt::format("'{}'", preview(word)),
                   .hint = kHint});
    }
    if (found != known.end()) {
      ids.push_back(found->second);
    } else if (!late.drops_unknown_words) {
      ids.push_back(unknown->second);
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace encode
