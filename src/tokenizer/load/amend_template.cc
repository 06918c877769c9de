#include "tokenizer/load/amend_template.h"

#include <cstdint>
#include <fmt/format.h>
#include <vector>

#include "tokenizer/load/loaders.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

constexpr const char* kPostProcessor = "post_processor";

struct RowToken {
  std::string content;
  int32_t id;
};

// The tokens before and after a text.
struct RowTokens {
  std::vector<RowToken> before;
  std::vector<RowToken> after;
};

class RowTokenMaker {
 public:
  RowTokenMaker(const TemplateSource& source, const TokenizerDocument& document)
      : source_(source), document_(document) {}

  // Returns true if tokenizer_config.json has a key that decides.
  bool is_stated() const {
    return source_.config.contains("add_eos_token") ||
           (source_.rule != TemplateRule::kEos && source_.config.contains("add_bos_token"));
  }

  RowTokens bos_and_eos() const {
    const TemplateRule rule = source_.rule;
    RowTokens tokens;
    if (rule != TemplateRule::kEos && flag("add_bos_token", rule == TemplateRule::kBosEos))
      tokens.before.push_back(named("bos_token"));
    if (flag("add_eos_token", false)) tokens.after.push_back(named("eos_token"));
    return tokens;
  }

  RowTokens eos_and_language() const {
    const bool is_nllb = source_.rule == TemplateRule::kNllb;
    const RowToken language =
        found(source_.fields.string_or("src_lang", is_nllb ? "eng_Latn" : "en_XX"), "src_lang");
    const bool is_last = is_nllb ? source_.fields.boolean_or("legacy_behaviour", false)
                                 : source_.rule == TemplateRule::kLanguageLast;
    RowTokens tokens;
    if (!is_last) tokens.before.push_back(language);
    tokens.after.push_back(named("eos_token"));
    if (is_last) tokens.after.push_back(language);
    return tokens;
  }

 private:
  // null counts as false, as in transformers.
  bool flag(const char* key, bool fallback) const {
    return source_.config.contains(key) ? source_.fields.boolean_or(key, false) : fallback;
  }

  RowToken named(const char* key) const {
    const auto token = source_.named.find(key);
    if (token == source_.named.end()) {
      refuse_format(fmt::format("every row gets the {}, but the tokenizer has none", key),
                    document_.where, fmt::format("a {}", key), "none");
    }
    return found(token->second, key);
  }

  RowToken found(const std::string& content, const char* key) const {
    const int32_t id = id_of(content);
    if (id < 0) {
      refuse_format(fmt::format("every row gets the {}, but the vocabulary does not have it", key),
                    document_.where, "a token of the vocabulary", quoted_token(content));
    }
    return {content, id};
  }

  int32_t id_of(const std::string& content) const {
    if (const Json* added = document_.part("added_tokens")) {
      for (const Json& token : *added) {
        if (token.at("content") == content) return token.at("id").get<int32_t>();
      }
    }
    return document_.model.vocabulary.find(content);
  }

  const TemplateSource& source_;
  const TokenizerDocument& document_;
};

std::vector<int32_t> ids_of(const std::vector<RowToken>& tokens) {
  std::vector<int32_t> ids;
  for (const RowToken& token : tokens) ids.push_back(token.id);
  return ids;
}

std::string shown(const std::vector<int32_t>& before, const std::vector<int32_t>& after) {
  return fmt::format("ids [{}] before a text, [{}] after it", fmt::join(before, ", "),
                     fmt::join(after, ", "));
}

Json template_processing(const RowTokens& tokens) {
  Json single = Json::array();
  Json special = Json::object();
  const auto add = [&](const RowToken& token) {
    single.push_back({{"SpecialToken", {{"id", token.content}, {"type_id", 0}}}});
    special[token.content] = {
        {"id", token.content}, {"ids", {token.id}}, {"tokens", {token.content}}};
  };
  for (const RowToken& token : tokens.before) add(token);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  for (const RowToken& token : tokens.after) add(token);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", Json::array()},
          {"special_tokens", special}};
}

// Throws Error "tokenizer.contradiction" if tokenizer.json adds other tokens than the class.
void require_tokens_of_class(const RowTokens& tokens, const TokenizerDocument& document) {
  SpecialTokens file;
  if (const Json* part = document.part(kPostProcessor))
    file = load_post_processor({*part, document.where + ": post_processor"});
  const std::vector<int32_t> before = ids_of(tokens.before);
  const std::vector<int32_t> after = ids_of(tokens.after);
  if (file.prefix == before && file.suffix == after) return;
  refuse_contradiction(
      {.what = "tokenizer.json and the class of the tokenizer add different special tokens",
       .where = document.where,
       .expected = shown(before, after) + " (the default of the class)",
       .found = shown(file.prefix, file.suffix) + " (the post-processor of tokenizer.json)",
       .hint = "state add_bos_token and add_eos_token in tokenizer_config.json, or set "
               "special_tokens: as_in_tokenizer_json"});
}

// Returns true if transformers 5 wrote tokenizer_config.json.
bool saved_by_transformers_5(const Json& config) { return config.contains("backend"); }

}  // namespace

void amend_template(const TemplateSource& source, TokenizerDocument& document) {
  const RowTokenMaker maker(source, document);
  switch (source.rule) {
    case TemplateRule::kFile:
      return;
    case TemplateRule::kLanguageLast:
    case TemplateRule::kLanguageFirst:
    case TemplateRule::kNllb:
      document.parts[kPostProcessor] = template_processing(maker.eos_and_language());
      return;
    case TemplateRule::kBosEos:
    case TemplateRule::kNoBosEos:
    case TemplateRule::kEos: {
      const RowTokens tokens = maker.bos_and_eos();
      if (maker.is_stated()) {
        document.parts[kPostProcessor] = template_processing(tokens);
      } else if (!saved_by_transformers_5(source.config)) {
        require_tokens_of_class(tokens, document);
      }
    }
  }
}

}  // namespace encode
