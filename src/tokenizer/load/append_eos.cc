#include "tokenizer/load/append_eos.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "tokenizer/load/load_post_processor.h"
#include "tokenizer/refusal.h"

namespace encode {
namespace {

constexpr JsonLimits kLimits = {.max_bytes = 16 << 20, .max_depth = 32};
constexpr const char* kPostProcessor = "post_processor";
constexpr const char* kDefaultEos = "<|endoftext|>";

struct EosSettings {
  std::optional<bool> add;
  std::string token = kDefaultEos;
  bool saved_by_transformers_5 = false;
};

EosSettings read_settings(const TokenizerSource& source) {
  EosSettings settings;
  const std::string* text = source.find(kTokenizerConfigFile);
  if (text == nullptr) return settings;
  const std::string where = source.path_of(kTokenizerConfigFile);
  const Json json = parse_json(*text, kLimits, where, kTokenizerFormat);
  const JsonFields fields(json, where, std::string(kTokenizerFormat));
  if (fields.has("add_eos_token")) settings.add = fields.boolean_or("add_eos_token", false);
  settings.saved_by_transformers_5 = fields.has("backend");
  if (const auto token = json.find("eos_token"); token != json.end()) {
    const Json& content = token->is_object() ? token->value("content", Json()) : *token;
    if (content.is_string()) {
      settings.token = content.get<std::string>();
    } else if (settings.add == true) {
      fields.refuse("eos_token", "the token that add_eos_token appends", preview(token->dump()));
    }
  }
  return settings;
}

int32_t id_of(const std::string& token, const TokenizerDocument& document) {
  if (const Json* added = document.part("added_tokens"); added != nullptr && added->is_array()) {
    for (const Json& item : *added) {
      if (item.is_object() && item.value("content", Json()) == token &&
          item.value("id", Json()).is_number_integer())
        return item.at("id").get<int32_t>();
    }
  }
  const int32_t id = document.model.vocabulary.find(token);
  if (id < 0) {
    refuse_format("the tokenizer does not have the eos_token that it appends", document.where,
                  "a token of the vocabulary or an added token", quoted_token(token));
  }
  return id;
}

// Returns a TemplateProcessing that puts the token after a text.
Json template_with(const std::string& token, int32_t id) {
  const auto sequence = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto special = [&token](int type) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({sequence("A", 0), special(0)})},
          {"pair", Json::array({sequence("A", 0), special(0), sequence("B", 1), special(1)})},
          {"special_tokens", {{token, {{"id", token}, {"ids", {id}}, {"tokens", {token}}}}}}};
}

bool adds_tokens(const TokenizerDocument& document) {
  const Json* part = document.part(kPostProcessor);
  if (part == nullptr) return false;
  const SpecialTokens own =
      load_post_processor({*part, fmt::format("{}: {}", document.where, kPostProcessor)});
  return !own.prefix.empty() || !own.suffix.empty();
}

Error contradiction(const TokenizerDocument& document) {
  return Error(
      {.exit_code = ExitCode::kConfig,
       .code = "tokenizer.special_tokens",
       .what = "tokenizer.json adds special tokens, and the code that tokenizer_config.json names "
               "adds none without add_eos_token",
       .where = document.where,
       .expected = "add_eos_token in tokenizer_config.json",
       .found =
           "add_eos_token is not stated (false), and the post-processor of tokenizer.json adds "
           "tokens",
       .hint = "state add_eos_token, or set semantic.special_tokens: as_in_tokenizer_json"});
}

}  // namespace

void append_eos(TokenizerDocument& document, const TokenizerSource& source) {
  const EosSettings settings = read_settings(source);
  if (!settings.add && adds_tokens(document)) {
    if (settings.saved_by_transformers_5) return;
    throw contradiction(document);
  }
  document.parts[kPostProcessor] =
      settings.add.value_or(false) ? template_with(settings.token, id_of(settings.token, document))
                                   : Json();
}

}  // namespace encode
