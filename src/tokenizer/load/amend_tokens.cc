#include "tokenizer/load/amend_tokens.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tokenizer/load/added_vocabulary.h"

namespace encode {
namespace {

// Returns the token as the constructor of the class has it: a text, or an AddedToken.
StatedToken formed(StatedToken token, const std::string& key, TokenForm form) {
  if (token.has_flags || form == TokenForm::kText) return token;
  const bool is_mask = key == "mask_token";
  const bool wraps_all = form == TokenForm::kAll || form == TokenForm::kAllPlain;
  if (!is_mask && !wraps_all) return token;
  if (form == TokenForm::kAllPlain && (is_mask || key == "sep_token" || key == "cls_token"))
    return token;
  token.has_flags = true;
  token.token.lstrip = is_mask;
  if (form == TokenForm::kMaskNormalized) {
    token.has_normalized = true;
    token.token.normalized = true;
  }
  return token;
}

// All special tokens of the tokenizer, each content once.
class SpecialTokenList {
 public:
  explicit SpecialTokenList(const TokenRules& rules) {
    for (const std::string key : kSpecialTokenKeys) add_named(key, rules.stated, rules.rules);
    for (StatedToken& token : additional_tokens(rules)) add(std::move(token));
    for (const StatedToken& token : rules.stated.extra) add(token);
  }

  const std::vector<StatedToken>& tokens() const { return tokens_; }
  // Returns true if a token with this content is special, whatever its own flag says.
  bool makes_special(const std::string& content, bool as_version_5) const {
    if (!as_version_5) return contents_.contains(content);
    return std::ranges::any_of(named_, [&](const auto& item) { return item.second == content; });
  }
  std::map<std::string, std::string> take_named() { return std::move(named_); }

 private:
  void add_named(const std::string& key, const StatedTokens& stated, const ClassRules& rules) {
    StatedToken token;
    if (const auto found = stated.named.find(key); found != stated.named.end()) {
      if (!found->second) return;
      token = *found->second;
    } else {
      const auto own = std::ranges::find(rules.tokens, key, &ClassToken::key);
      if (own == rules.tokens.end()) return;
      token = text_token(own->content);
    }
    named_[key] = token.token.content;
    add(formed(std::move(token), key, rules.form));
  }

  static std::vector<StatedToken> additional_tokens(const TokenRules& rules) {
    const ClassRules& own = rules.rules;
    std::vector<StatedToken> tokens = rules.stated.additional.value_or(std::vector<StatedToken>());
    if (!own.extra_ids) {
      if (own.own_tokens == OwnTokens::kIfNoneStated && rules.stated.additional) return tokens;
      std::vector<StatedToken> of_class;
      for (const std::string& content : own.additional) of_class.push_back(text_token(content));
      const auto place = own.own_tokens == OwnTokens::kBeforeStated ? tokens.begin() : tokens.end();
      tokens.insert(place, of_class.begin(), of_class.end());
      return tokens;
    }
    const std::vector<StatedToken> extra =
        extra_id_tokens(tokens, rules.extra_ids, kTokenizerConfigFile);
    tokens.insert(tokens.end(), extra.begin(), extra.end());
    return tokens;
  }

  void add(StatedToken token) {
    if (token.token.content.empty() || !contents_.insert(token.token.content).second) return;
    tokens_.push_back(std::move(token));
  }

  std::vector<StatedToken> tokens_;
  std::set<std::string> contents_;
  std::map<std::string, std::string> named_;
};

// Returns the tokens that the constructor of PreTrainedTokenizerFast adds, in its order.
std::vector<StatedToken> tokens_to_add(const TokenRules& rules, const SpecialTokenList& special,
                                       const AddedVocabulary& vocabulary) {
  std::map<std::string, AddedToken> stated;
  std::vector<StatedToken> tokens;
  for (const auto& [id, token] : rules.stated.added) {
    tokens.push_back({.token = token, .has_flags = true, .has_normalized = true});
    stated[token.content] = token;
  }
  for (const StatedToken& token : special.tokens()) {
    const auto known = stated.find(token.token.content);
    const bool is_known = known != stated.end() || vocabulary.has(token.token.content);
    const bool is_same = known != stated.end() && same_token(known->second, token.token);
    const bool adds_again = token.has_flags && !rules.rules.as_version_5;
    if (adds_again ? !is_same : !is_known) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace

std::map<std::string, std::string> amend_tokens(const TokenRules& rules,
                                                const std::vector<AddedToken>& own,
                                                TokenizerDocument& document) {
  AddedVocabulary vocabulary(document.model.vocabulary);
  for (const AddedToken& token : own) vocabulary.add_with_id(token);
  SpecialTokenList special(rules);
  const std::vector<StatedToken> added = tokens_to_add(rules, special, vocabulary);
  for (StatedToken token : added) {
    // In both versions, a token without flags is special: only the list of special tokens has it.
    token.token.special = token.token.special || !token.has_flags ||
                          special.makes_special(token.token.content, rules.rules.as_version_5);
    if (!token.has_normalized) token.token.normalized = !token.token.special;
    vocabulary.add(token.token);
  }
  for (const auto& [id, token] : rules.stated.added) {
    vocabulary.require_id(token.content,
                          {.id = id, .where = document.where, .file = kTokenizerConfigFile});
  }
  if (vocabulary.changed()) document.parts["added_tokens"] = vocabulary.to_json(document.where);
  return special.take_named();
}

}  // namespace encode
