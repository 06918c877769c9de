#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "tokenizer/load/join_rule.h"
#include "tokenizer/load/load_added_tokens.h"
#include "tokenizer/load/loaders.h"
#include "tokenizer/load/tokenizer_document.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

// Returns the spelling of each id. Throws Error (kConfig) if two tokens have the same id.
TokenSpellings list_tokens(const Vocabulary& vocabulary, const std::vector<AddedToken>& added,
                           const std::string& where) {
  int32_t max_id = vocabulary.max_id();
  for (const AddedToken& token : added) max_id = std::max(max_id, token.id);
  std::vector<std::string_view> tokens(static_cast<size_t>(max_id + 1));
  std::vector<bool> taken(tokens.size());
  for (const auto& entry : vocabulary.entries()) {
    const auto id = static_cast<size_t>(entry.id);
    if (taken[id]) {
      refuse_format("two tokens share an id", where, "distinct ids",
                    fmt::format("{}, {} and {}", id, quoted_token(tokens[id]),
                                quoted_token(vocabulary.token(entry))));
    }
    taken[id] = true;
    tokens[id] = vocabulary.token(entry);
  }
  for (const AddedToken& token : added) tokens[static_cast<size_t>(token.id)] = token.content;
  return TokenSpellings(tokens);
}

void check_special_ids(const SpecialTokens& special, size_t vocab_size, const std::string& where) {
  for (const auto* side : {&special.prefix, &special.suffix}) {
    for (const int32_t id : *side) {
      if (static_cast<size_t>(id) >= vocab_size) {
        refuse_format("the post-processor uses an id outside of the vocabulary", where,
                      fmt::format("below {}", vocab_size), fmt::to_string(id));
      }
    }
  }
}

// Returns the "direction" of the truncation that the file states. Its other fields do not count.
TruncationSide stated_truncation_side(const Json* json, const std::string& where) {
  if (json == nullptr) return TruncationSide::kRight;
  const JsonFields fields(*json, where + ": truncation", kTokenizerFormat);
  const auto direction = json->find("direction");
  if (direction == json->end() || *direction == "Right") return TruncationSide::kRight;
  if (*direction == "Left") return TruncationSide::kLeft;
  fields.refuse("direction", "\"Left\" or \"Right\"", preview(direction->dump()));
}

// Returns a text for the log: "every row: '[CLS]' text '[SEP]'".
std::string special_tokens_text(const PipelineParts& parts) {
  const auto append = [&](const std::vector<int32_t>& ids, std::string& text) {
    for (const int32_t id : ids) text += " " + quoted_token(parts.tokens[static_cast<size_t>(id)]);
  };
  const SpecialTokens& special = parts.row_form.special;
  if (special.prefix.empty() && special.suffix.empty()) return "no special tokens";
  std::string text = "every row:";
  append(special.prefix, text);
  text += " text";
  append(special.suffix, text);
  return text;
}

std::string part_type(const Json* part) {
  return part == nullptr ? std::string("none") : part->value("type", "");
}

PipelineParts build_parts(const TokenizerDocument& document, const BuildOptions& options) {
  const std::string& where = document.where;
  PipelineParts parts;
  if (const Json* json = document.part("normalizer"); json != nullptr) {
    parts.normalizer = load_normalizer({*json, where + ": normalizer"});
  }
  bool byte_level = false;
  if (const Json* json = document.part("pre_tokenizer"); json != nullptr) {
    LoadedPreTokenizer loaded =
        load_pre_tokenizer({*json, where + ": pre_tokenizer"}, model_takes_bytes(document.model));
    parts.pre_tokenizer = std::move(loaded.pre_tokenizer);
    byte_level = loaded.byte_level;
  }
  parts.model = build_model(document.model, byte_level, where + ": model");
  std::vector<AddedToken> tokens = read_added_tokens(document.part("added_tokens"), where);
  for (AddedToken& token : tokens) token.hidden = options.split_special_tokens && token.special;
  std::unique_ptr<Normalizer> other_normalizer;
  if (const auto& json = options.added_token_normalizer)
    other_normalizer = load_normalizer({*json, where + ": normalizer"});
  AddedTokens added = load_added_tokens(
      std::move(tokens), (other_normalizer ? other_normalizer : parts.normalizer).get(),
      document.model.vocabulary, where);
  parts.raw_tokens = std::move(added.raw);
  parts.normalized_tokens = std::move(added.normalized);
  parts.joins = join_places(document, parts);
  parts.tokens = list_tokens(document.model.vocabulary, added.list, where);
  if (const Json* json = document.part("post_processor"); json != nullptr) {
    parts.row_form.special = load_post_processor({*json, where + ": post_processor"});
    check_special_ids(parts.row_form.special, parts.tokens.size(), where + ": post_processor");
  }
  if (!options.type_ids) parts.row_form.special.types = {};
  parts.description = fmt::format(
      "{}, {} tokens, normalizer {}, pre-tokenizer {}, post-processor {}", parts.model->name(),
      parts.tokens.size(), part_type(document.part("normalizer")),
      part_type(document.part("pre_tokenizer")), part_type(document.part("post_processor")));
  return parts;
}

// Puts a Lowercase before a normalizer that has none, as the Transformer of sentence-transformers 6
// does. It looks only at the normalizer itself and at the parts of a Sequence.
void put_lowercase_first(Json& normalizer) {
  const auto is = [](const Json& part, const char* type) {
    return part.is_object() && part.value("type", Json()) == type;
  };
  const auto is_lowercase = [&](const Json& part) { return is(part, "Lowercase"); };
  if (is_lowercase(normalizer)) return;
  Json parts = Json::array({{{"type", "Lowercase"}}});
  const auto list = is(normalizer, "Sequence") ? normalizer.find("normalizers") : normalizer.end();
  if (list != normalizer.end() && list->is_array()) {
    if (std::ranges::any_of(*list, is_lowercase)) return;
    parts.insert(parts.end(), list->begin(), list->end());
  } else if (!normalizer.is_null()) {
    parts.push_back(normalizer);
  }
  normalizer = {{"type", "Sequence"}, {"normalizers", std::move(parts)}};
}

}  // namespace

const Json* TokenizerDocument::part(const std::string& key) const {
  const auto found = parts.find(key);
  return found == parts.end() || found->second.is_null() ? nullptr : &found->second;
}

std::unique_ptr<Tokenizer> build_tokenizer(TokenizerDocument document,
                                           const BuildOptions& options) {
  // The document's own side is checked even if it does not count, as in transformers.
  const TruncationSide stated = stated_truncation_side(document.part("truncation"), document.where);
  if (options.lower_case_first) put_lowercase_first(document.parts["normalizer"]);
  PipelineParts parts = build_parts(document, options);
  parts.row_form.truncation = options.truncation_side.value_or(stated);
  parts.description += ", " + special_tokens_text(parts);
  if (parts.row_form.truncation == TruncationSide::kLeft)
    parts.description += ", truncation on the left";
  if (!parts.row_form.special.types.all_zero()) parts.description += ", token type ids";
  return make_pipeline(std::move(parts));
}

}  // namespace encode
