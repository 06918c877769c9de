#include "tokenizer/load/amend_document.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "tokenizer/load/amend_template.h"
#include "tokenizer/load/amend_tokens.h"
#include "tokenizer/load/class_rules.h"
#include "tokenizer/load/component.h"
#include "tokenizer/load/load_added_tokens.h"
#include "tokenizer/load/special_token_files.h"
#include "tokenizer/load/tokenizer_class.h"
#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

constexpr const char* kNormalizer = "normalizer";
constexpr const char* kPreTokenizer = "pre_tokenizer";
constexpr const char* kPrefixSpace = "add_prefix_space";

// Amends one document. The steps are in the order of transformers.
class Amendment {
 public:
  Amendment(const TokenizerSource& source, const Json& config, const ClassRules& rules,
            TokenizerDocument& document)
      : config_(config),
        fields_(config, source.path_of(kTokenizerConfigFile), kTokenizerFormat),
        rules_(rules),
        has_model_(std::ranges::any_of(kTokenizerFiles,
                                       [&](const char* name) {
                                         return is_sentencepiece_file(name) &&
                                                source.files.contains(name);
                                       })),
        document_(document) {}

  const JsonFields& fields() const { return fields_; }

  // Returns the old normalizer if it has changed. transformers adds the tokens before it changes
  // the normalizer, so it searches for the form that the old normalizer gives to the tokens.
  std::optional<Json> amend_normalizer() {
    if (rules_.normalizer == NormalizerRule::kFile) return std::nullopt;
    const auto found = document_.parts.find(kNormalizer);
    if (found == document_.parts.end() || !found->second.is_object()) {
      refuse_unsupported("the class of the tokenizer needs a normalizer", document_.where,
                         {.expected = "a normalizer, for example BertNormalizer", .found = "none"});
    }
    Json& normalizer = found->second;
    if (normalizer.value("type", "") != "BertNormalizer") return std::nullopt;
    Json old = normalizer;
    normalizer["lowercase"] = flag("do_lower_case", true);
    normalizer["strip_accents"] = strip_accents();
    if (rules_.normalizer == NormalizerRule::kBert)
      normalizer["handle_chinese_chars"] = flag("tokenize_chinese_chars", true);
    if (old == normalizer) return std::nullopt;
    return old;
  }

  void amend_prefix_space() {
    switch (rules_.prefix_space) {
      case PrefixSpaceRule::kFile:
        return;
      case PrefixSpaceRule::kLlama:
      case PrefixSpaceRule::kT5:
        return check_rebuilt_parts();
      case PrefixSpaceRule::kPreTokenizer:
      case PrefixSpaceRule::kEverywhere:
        break;
    }
    const auto found = document_.parts.find(kPreTokenizer);
    if (found == document_.parts.end() || !found->second.is_object()) return;
    Json& pre_tokenizer = found->second;
    // If the key is null, the constructor of the pre-tokenizer throws in transformers, which then
    // keeps the old pre-tokenizer.
    const bool is_null = config_.contains(kPrefixSpace) && !fields_.has(kPrefixSpace);
    if (pre_tokenizer.value("type", "") == "ByteLevel" && !is_null)
      pre_tokenizer[kPrefixSpace] = stated_prefix_space(pre_tokenizer);
    if (rules_.prefix_space == PrefixSpaceRule::kEverywhere &&
        fields_.boolean_or(kPrefixSpace, false)) {
      set_everywhere(pre_tokenizer);
    }
  }

 private:
  // Returns the value of a flag. null is refused, as by transformers.
  bool flag(const char* key, bool fallback) const {
    const auto found = config_.find(key);
    if (found == config_.end()) return fallback;
    if (!found->is_boolean()) fields_.refuse(key, "true or false", preview(found->dump()));
    return found->get<bool>();
  }

  Json strip_accents() const {
    if (!fields_.has("strip_accents")) return nullptr;
    return fields_.boolean_or("strip_accents", false);
  }

  bool stated_prefix_space(const Json& pre_tokenizer) const {
    const bool stated = fields_.boolean_or(kPrefixSpace, false);
    const bool in_file = pre_tokenizer.value(kPrefixSpace, Json(true)) == true;
    // In transformers 5, only a class without rules of its own keeps the value of the file.
    if (in_file && !fields_.has(kPrefixSpace) && rules_.tokens.empty()) {
      refuse_contradiction(
          {.what = "the versions of transformers do not agree on the space before a text",
           .where = document_.where,
           .expected = "add_prefix_space true: tokenizer.json, which transformers 5.17 follows",
           .found = "false: the default in tokenizer_config.json, which transformers 4.57 follows",
           .hint = "state add_prefix_space in tokenizer_config.json as the model was trained"});
    }
    return stated;
  }

  static void set_everywhere(Json& json) {
    for (auto& item : json.items()) {
      if (item.key() == kPrefixSpace && item.value() == false) item.value() = true;
      if (item.value().is_structured()) set_everywhere(item.value());
    }
  }

  // With add_prefix_space, transformers makes the tokenizer anew from its sentencepiece model.
  // Refuses a tokenizer.json whose parts differ from the result.
  void check_rebuilt_parts() {
    if (!fields_.has(kPrefixSpace)) return;
    if (!has_model_) {
      refuse_contradiction(
          {.what = "tokenizer_config.json states add_prefix_space, so transformers 4.57 does not "
                   "read tokenizer.json",
           .where = document_.where,
           .expected = "a sentencepiece model in the directory",
           .found = "none",
           .hint = "set add_prefix_space to null in tokenizer_config.json to keep tokenizer.json"});
    }
    const bool prefix = fields_.boolean_or(kPrefixSpace, true);
    const bool is_llama = rules_.prefix_space == PrefixSpaceRule::kLlama;
    const bool legacy = fields_.boolean_or("legacy", true);
    Json normalizer;
    Json pre_tokenizer;
    if (is_llama && legacy) {
      Json steps = Json::array();
      if (prefix) steps.push_back({{"type", "Prepend"}, {"prepend", unicode::kMetaspaceUtf8}});
      steps.push_back({{"type", "Replace"},
                       {"pattern", {{"String", " "}}},
                       {"content", unicode::kMetaspaceUtf8}});
      normalizer = {{"type", "Sequence"}, {"normalizers", steps}};
    } else {
      const char* scheme = !prefix ? "never" : is_llama ? "first" : "always";
      pre_tokenizer = {{"type", "Metaspace"},
                       {"replacement", unicode::kMetaspaceUtf8},
                       {"prepend_scheme", scheme},
                       {"split", !is_llama}};
    }
    if (is_llama) require_part(kNormalizer, normalizer);
    require_part(kPreTokenizer, pre_tokenizer);
  }

  void require_part(const char* key, const Json& expected) const {
    const Json* part = document_.part(key);
    if ((part == nullptr ? Json() : *part) == expected) return;
    refuse_contradiction(
        {.what = fmt::format("tokenizer_config.json states add_prefix_space, and tokenizer.json "
                             "has another {}",
                             key),
         .where = document_.where,
         .expected = fmt::format("{}, which transformers 4.57 makes", preview(expected.dump())),
         .found = part == nullptr ? "none" : preview(part->dump()),
         .hint = "set add_prefix_space to null in tokenizer_config.json to keep tokenizer.json"});
  }

  const Json& config_;
  JsonFields fields_;
  const ClassRules& rules_;
  bool has_model_;  // the directory has a sentencepiece model
  TokenizerDocument& document_;
};

TemplateRule template_rule(const TokenizerRules& rules, const ClassRules& own) {
  if (rules.special_tokens == SpecialTokensRule::kAsInTokenizerJson) return TemplateRule::kFile;
  return rules.recipe == TokenizerRecipe::kAppendEos ? TemplateRule::kEos : own.special;
}

void require_known_class(const ChosenClass& chosen, const ClassRules& rules,
                         const TokenizerSource& source) {
  if (rules.support == ClassSupport::kBuilt) return;
  const bool slow = rules.support == ClassSupport::kSlowOnly;
  refuse_unsupported(
      fmt::format("tokenizer class {} is not supported", quoted_token(chosen.name)),
      source.folder + "/" + chosen.where,
      {.expected = "a class of the table in docs/tokenizers.md",
       .found = quoted_token(chosen.name) +
                (slow ? ", for which transformers does not read tokenizer.json"
                      : ", which changes the ids of tokenizer.json in a way of its own"),
       .hint = "state tokenizer_class PreTrainedTokenizerFast in tokenizer_config.json if "
               "tokenizer.json alone gives the ids of the training"});
}

// Refuses tokenizers that transformers does not load, and those that need a list of tokens which
// only transformers has.
void require_parts(const ChosenClass& chosen, const ClassRules& rules, const StatedTokens& stated,
                   const TokenizerDocument& document) {
  if (rules.needs_additional && (!stated.additional || stated.additional->empty())) {
    refuse_unsupported(
        fmt::format("tokenizer class {} has no list of its languages", quoted_token(chosen.name)),
        document.where,
        {.expected = "additional_special_tokens in tokenizer_config.json",
         .found = "none",
         .hint = "save the tokenizer with save_pretrained() of transformers, which writes them"});
  }
  const Json* part = document.part(kPreTokenizer);
  if (rules.needs_sequence &&
      (part == nullptr || !part->is_object() || part->value("type", "") != "Sequence")) {
    refuse_unsupported(
        fmt::format("tokenizer class {} needs another pre-tokenizer", quoted_token(chosen.name)),
        document.where,
        {.expected = "a Sequence", .found = part == nullptr ? "none" : preview(part->dump())});
  }
}

// Returns true if the class takes the padding token from the padding of tokenizer.json, because its
// constructor has no parameter for the padding token.
bool takes_padding_token(TokenizerClass value, const ClassRules& rules) {
  return value != TokenizerClass::kGptNeoX &&
         std::ranges::find(rules.tokens, "pad_token", &ClassToken::key) == rules.tokens.end();
}

void add_padding_token(const TokenizerDocument& document, StatedTokens& stated) {
  const Json* padding = document.part("padding");
  if (padding == nullptr || !padding->is_object() || stated.named.contains("pad_token")) return;
  const auto token = padding->find("pad_token");
  if (token == padding->end() || !token->is_string()) return;
  StatedToken pad;
  pad.token.content = token->get<std::string>();
  stated.named["pad_token"] = std::move(pad);
}

bool hands_over_type_ids(const Json& config, const ClassRules& rules) {
  const auto stated = config.find("model_input_names");
  if (stated == config.end() || !stated->is_array()) return rules.type_ids;
  return std::find(stated->begin(), stated->end(), "token_type_ids") != stated->end();
}

BuildOptions build_options(const JsonFields& fields, const Json& config, const ClassRules& rules) {
  BuildOptions options;
  // null is not the same as an absent key: transformers refuses it.
  if (const auto side = config.find("truncation_side"); side != config.end()) {
    if (*side != "left" && *side != "right")
      fields.refuse("truncation_side", "\"left\" or \"right\"", preview(side->dump()));
    options.truncation_side = *side == "left" ? TruncationSide::kLeft : TruncationSide::kRight;
  }
  options.split_special_tokens = fields.boolean_or("split_special_tokens", false);
  options.type_ids = hands_over_type_ids(config, rules);
  return options;
}

}  // namespace

Json read_tokenizer_config(const TokenizerSource& source) {
  const std::string* text = source.find(kTokenizerConfigFile);
  if (text == nullptr) return Json::object();
  return parse_json(*text, {.max_bytes = 16 << 20, .max_depth = 32},
                    source.path_of(kTokenizerConfigFile), kTokenizerFormat);
}

BuildOptions amend_document(const TokenizerSource& source, TokenizerDocument& document) {
  const Json config = read_tokenizer_config(source);
  const std::string where = source.path_of(kTokenizerConfigFile);
  const JsonFields fields(config, where, kTokenizerFormat);
  const ChosenClass chosen =
      choose_tokenizer_class(source, fields.string_or("tokenizer_class", ""));
  const ClassRules rules = class_rules(chosen.value);
  require_known_class(chosen, rules, source);
  const std::vector<AddedToken> own =
      read_added_tokens(document.part("added_tokens"), document.where);
  StatedTokens stated = read_stated_tokens(source, config, own, rules.as_version_5);
  require_parts(chosen, rules, stated, document);
  if (takes_padding_token(chosen.value, rules)) add_padding_token(document, stated);
  const int64_t extra_ids =
      rules.extra_ids ? fields.integer_or("extra_ids", 100, 0, kMaxVocabSize) : 0;
  const std::map<std::string, std::string> named =
      amend_tokens({.stated = stated, .rules = rules, .extra_ids = extra_ids}, own, document);
  Amendment amendment(source, config, rules, document);
  amendment.amend_prefix_space();
  std::optional<Json> old_normalizer = amendment.amend_normalizer();
  amend_template({.config = config,
                  .fields = fields,
                  .rule = template_rule(source.rules, rules),
                  .named = named},
                 document);
  BuildOptions options = build_options(fields, config, rules);
  options.added_token_normalizer = std::move(old_normalizer);
  return options;
}

BuildOptions stated_build_options(const TokenizerSource& source) {
  const Json config = read_tokenizer_config(source);
  const JsonFields fields(config, source.path_of(kTokenizerConfigFile), kTokenizerFormat);
  const ChosenClass chosen =
      choose_tokenizer_class(source, fields.string_or("tokenizer_class", ""));
  return build_options(fields, config, class_rules(chosen.value));
}

}  // namespace encode
