#include "tokenizer/load/slow_class_document.h"

#include <fmt/format.h>
#include <utility>

#include "tokenizer/load/amend_document.h"
#include "tokenizer/load/component.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

constexpr const char* kSaveHint =
    "load the tokenizer with transformers' AutoTokenizer and save it with save_pretrained(), which "
    "writes tokenizer.json";

const SlowClassRules& rules_of(const ChosenClass& chosen, const TokenizerSource& source) {
  const SlowClassRules* rules = find_slow_class_rules(chosen.value);
  if (rules == nullptr) {
    refuse_unsupported(
        chosen.name.empty()
            ? "no file states the class of the tokenizer, and there is no tokenizer.json"
            : fmt::format("tokenizer class {} is not supported without a tokenizer.json",
                          quoted_token(chosen.name)),
        source.folder,
        {.expected = fmt::format("tokenizer.json, or one of the classes: {}", slow_class_names()),
         .found = fmt::format("{}, with the files: {}",
                              chosen.name.empty() ? "no class" : quoted_token(chosen.name),
                              joined_names(source.files)),
         .hint = kSaveHint});
  }
  if (source.find(std::string(rules->file)) == nullptr) {
    refuse_unsupported(
        fmt::format("the file of tokenizer class {} is missing", quoted_token(chosen.name)),
        source.folder,
        {.expected = fmt::format("tokenizer.json or {}", rules->file),
         .found = joined_names(source.files),
         .hint = "download the whole directory again, or save tokenizer.json with transformers"});
  }
  return *rules;
}

class TemplateMaker {
 public:
  TemplateMaker(const SlowClassParts& parts, const TokenizerDocument& document)
      : parts_(parts), vocabulary_(document.model.vocabulary), where_(document.where) {}

  Json make() {
    const SlowClassRules& rules = parts_.rules;
    const SlowClassOptions& options = parts_.options;
    switch (rules.row_template) {
      case RowTemplate::kFixed:
        if (rules.files == ClassFiles::kEsm) return esm();
        return around(std::string(rules.prefix), std::string(rules.suffix));
      case RowTemplate::kClsSep:
        return around(named("cls_token"), named("sep_token"));
      case RowTemplate::kRoberta:
        return {{"type", "RobertaProcessing"},
                {"sep", pair(named("sep_token"))},
                {"cls", pair(named("cls_token"))},
                {"trim_offsets", options.flag("trim_offsets", true)},
                {"add_prefix_space", options.flag("add_prefix_space", false)}};
      case RowTemplate::kBosEos:
        return around(options.flag("add_bos_token", true) ? named("bos_token") : "",
                      options.flag("add_eos_token", false) ? named("eos_token") : "");
      case RowTemplate::kBosOnly:
        if (options.flag("add_bos_token", false)) return around(named("bos_token"), "");
        return byte_level();
      case RowTemplate::kByteLevel:
        return byte_level();
      case RowTemplate::kLanguageLast:
        return of_tokens({}, {named("eos_token"), options.text("src_lang", "en_XX")});
      case RowTemplate::kLanguageFirst:
        return of_tokens({options.text("src_lang", "en_XX")}, {named("eos_token")});
    }
    return nullptr;
  }

 private:
  const std::string& named(const char* name) const {
    const std::string* token = parts_.tokens.find(name);
    if (token == nullptr || token->empty())
      refuse_format(fmt::format("the class adds its {} to every row", name), where_, "a token",
                    "null");
    return *token;
  }

  // Returns the id of a token that every row gets. Throws if the vocabulary does not have the
  // token, because the model would have no embedding for it.
  int32_t id_of(const std::string& token) const {
    const int32_t id = vocabulary_.find(token);
    if (id < 0)
      refuse_format("the class adds a token to every row that the vocabulary does not have", where_,
                    quoted_token(token), "no such token");
    return id;
  }

  Json pair(const std::string& token) const { return Json::array({token, id_of(token)}); }

  Json of_tokens(const std::vector<std::string>& before,
                 const std::vector<std::string>& after) const {
    Json single = Json::array();
    Json special = Json::object();
    const auto add = [&](const std::string& token) {
      single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
      special[token] = {{"id", token}, {"ids", {id_of(token)}}, {"tokens", {token}}};
    };
    for (const std::string& token : before) add(token);
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    for (const std::string& token : after) add(token);
    return {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", special}};
  }

  Json around(const std::string& before, const std::string& after) const {
    const auto list = [](const std::string& token) {
      return token.empty() ? std::vector<std::string>() : std::vector<std::string>{token};
    };
    return of_tokens(list(before), list(after));
  }

  static Json byte_level() {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", true},
            {"trim_offsets", false},
            {"use_regex", true}};
  }

  Json esm() const {
    const std::string* eos = parts_.tokens.find("eos_token");
    return around(named("cls_token"), eos == nullptr ? "" : *eos);
  }

  const SlowClassParts& parts_;
  const Vocabulary& vocabulary_;
  const std::string& where_;
};

// ESM cuts a text at every token of its vocabulary.
void add_vocabulary(const Vocabulary& vocabulary, AddedVocabulary& added) {
  for (const auto& entry : vocabulary.entries()) {
    AddedToken token;
    token.content = vocabulary.token(entry);
    added.add(std::move(token));
  }
}

// ESM searches the raw text for all tokens. Refuses "single_word" and "split_special_tokens", with
// which the Python tokenizer of ESM splits a text in another way.
SlowClassTokens tokens_of_esm(const SlowClassOptions& options, SlowClassTokens tokens) {
  options.require("split_special_tokens", false);
  const auto search_raw_text = [&](AddedToken& token) {
    token.normalized = false;
    if (!token.single_word) return;
    refuse_unsupported(
        "a token of ESM must be a word of its own", options.where(),
        {.expected = "\"single_word\": false", .found = quoted_token(token.content)});
  };
  for (auto& [id, token] : tokens.by_id) search_raw_text(token);
  for (StatedToken& stated : tokens.special) search_raw_text(stated.token);
  return tokens;
}

}  // namespace

TokenizerDocument make_slow_class_document(const TokenizerSource& source) {
  if (source.rules.special_tokens != SpecialTokensRule::kByClass ||
      source.rules.recipe != TokenizerRecipe::kNone) {
    refuse_unsupported("the tokenizer has no tokenizer.json", source.folder,
                       {.expected = "tokenizer.json, because of the key special_tokens or of a "
                                    "recipe for the code of the repository",
                        .found = joined_names(source.files),
                        .hint = kSaveHint});
  }
  const Json config = read_tokenizer_config(source);
  const SlowClassOptions options(config, source.path_of(kTokenizerConfigFile));
  const SlowClassRules& rules =
      rules_of(choose_tokenizer_class(source, options.text("tokenizer_class", "")), source);
  options.require("vocab_file", nullptr);
  options.require("merges_file", nullptr);
  SlowClassTokens tokens =
      slow_class_tokens(rules, options, read_stated_tokens(source, config, {}, false));
  if (rules.files == ClassFiles::kEsm) tokens = tokens_of_esm(options, std::move(tokens));
  const SlowClassParts parts{source, rules, options, tokens};
  TokenizerDocument document;
  document.where = source.path_of(std::string(rules.file));
  std::vector<AddedToken> stated;
  if (rules.files == ClassFiles::kSentencePiece) {
    stated = fill_from_sentencepiece(parts, document);
  } else {
    fill_from_vocabulary(parts, document);
  }
  const Vocabulary& vocabulary = document.model.vocabulary;
  AddedVocabulary added(vocabulary);
  for (const AddedToken& token : stated) added.add(token);
  if (rules.files == ClassFiles::kEsm) add_vocabulary(vocabulary, added);
  add_slow_class_tokens(tokens, document.where, added);
  document.parts["added_tokens"] = added.to_json_of_both_texts();
  document.parts["post_processor"] = TemplateMaker(parts, document).make();
  return document;
}

}  // namespace encode
