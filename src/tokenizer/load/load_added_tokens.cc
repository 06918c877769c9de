#include "tokenizer/load/load_added_tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "tokenizer/text_buffer.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

std::string entry_name(const std::string& where, size_t index) {
  return fmt::format("{}: added_tokens[{}]", where, index);
}

AddedToken load_added_token(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kTokenizerFormat);
  static const std::set<std::string, std::less<>> kFlags = {"single_word", "lstrip", "rstrip",
                                                            "normalized", "special"};
  for (const auto& [key, value] : json.items()) {
    const bool is_flag = kFlags.contains(key);
    if (!is_flag && key != "id" && key != "content") {
      refuse_unsupported(
          fmt::format("key {} of an added token is not supported", quoted_token(key)), where,
          {.expected = fmt::format("only the keys: id, content, {}", fmt::join(kFlags, ", ")),
           .found = quoted_token(key)});
    }
    if (is_flag && !value.is_boolean()) fields.refuse(key, "true or false", preview(value.dump()));
  }
  AddedToken token;
  token.id = static_cast<int32_t>(fields.integer("id", 0, kMaxVocabSize - 1));
  token.content = fields.string("content");
  if (token.content.empty() || token.content.size() > kMaxSearchedTokenBytes) {
    fields.refuse("content", fmt::format("1 to {} bytes", kMaxSearchedTokenBytes),
                  quoted_token(token.content));
  }
  // `tokenizers` also refuses a token that lacks one of its flags.
  const auto flag = [&](const char* key) {
    if (!json.contains(key)) fields.refuse(key, "true or false", "no such key");
    return fields.boolean_or(key, false);
  };
  token.single_word = flag("single_word");
  token.lstrip = flag("lstrip");
  token.rstrip = flag("rstrip");
  token.normalized = flag("normalized");
  token.special = flag("special");
  return token;
}

// Hugging Face `tokenizers` gives an added token the id of the same token in the vocabulary, or
// else the next free id. A file that states another id is refused, because it cannot be known
// which id the model was trained with.
void check_id(const AddedToken& token, const Vocabulary& vocabulary, int32_t& next_id,
              const std::string& where) {
  const int32_t known = vocabulary.find(token.content);
  const int32_t id = known >= 0 ? known : next_id++;
  if (id != token.id) {
    refuse_format(fmt::format("added token {} has a wrong id", quoted_token(token.content)), where,
                  fmt::to_string(id), fmt::to_string(token.id));
  }
}

// Returns the text that the search for the token looks for in a normalized text.
std::string normal_form(const AddedToken& token, const Normalizer& normalizer,
                        const std::string& where) {
  RewriteBudget budget(token.content.size());
  TextBuffer text;
  text.reset(token.content, true, &budget);
  try {
    normalizer.normalize(text);
  } catch (const Error& error) {
    refuse_format(fmt::format("added token {} cannot be normalized", quoted_token(token.content)),
                  where, error.detail().expected, error.detail().found);
  }
  return std::string(text.view());
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const Json* json, const std::string& where) {
  std::vector<AddedToken> tokens;
  if (json == nullptr) return tokens;
  if (!json->is_array())
    refuse_format("bad value for 'added_tokens'", where, "an array", json->type_name());
  for (const Json& entry : *json)
    tokens.push_back(load_added_token(entry, entry_name(where, tokens.size())));
  return tokens;
}

AddedTokens load_added_tokens(std::vector<AddedToken> tokens, const Normalizer* normalizer,
                              const Vocabulary& vocabulary, const std::string& where) {
  AddedTokens result;
  std::vector<std::pair<std::string, AddedToken>> raw;
  std::vector<std::pair<std::string, AddedToken>> normalized;
  std::set<std::string> raw_patterns;
  std::set<std::string> normalized_patterns;
  auto next_id = static_cast<int32_t>(vocabulary.size());
  for (AddedToken& token : tokens) {
    const std::string entry_where = entry_name(where, result.list.size());
    check_id(token, vocabulary, next_id, entry_where);
    std::string pattern = token.content;
    if (token.normalized && normalizer != nullptr)
      pattern = normal_form(token, *normalizer, entry_where);
    if (pattern.size() > kMaxSearchedTokenBytes) {
      refuse_format(fmt::format("added token {} is too long after normalization",
                                quoted_token(token.content)),
                    entry_where, fmt::format("at most {} bytes", kMaxSearchedTokenBytes),
                    fmt::format("{} bytes", pattern.size()));
    }
    if (pattern.empty() ||
        !(token.normalized ? normalized_patterns : raw_patterns).insert(pattern).second) {
      refuse_format(fmt::format("added token {} is empty or not unique after normalization",
                                quoted_token(token.content)),
                    entry_where, "distinct added tokens", quoted_token(pattern));
    }
    (token.normalized ? normalized : raw).emplace_back(std::move(pattern), token);
    result.list.push_back(std::move(token));
  }
  result.raw = AddedTokenFinder(std::move(raw));
  result.normalized = AddedTokenFinder(std::move(normalized));
  return result;
}

}  // namespace encode
