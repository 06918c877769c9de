#include "tokenizer/load/slow_class_tokens.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace encode {
namespace {

// Returns the token with the flags that its class in transformers gives it, unless the files state
// flags.
StatedToken with_form(StatedToken token, SlowTokenForm form) {
  if (token.has_flags || form == SlowTokenForm::kString) return token;
  token.has_flags = true;
  token.has_normalized = true;
  token.token.lstrip = form == SlowTokenForm::kRawMask || form == SlowTokenForm::kNormalizedMask;
  token.token.normalized =
      form == SlowTokenForm::kNormalized || form == SlowTokenForm::kNormalizedMask;
  return token;
}

class Collector {
 public:
  Collector(const SlowClassRules& rules, const SlowClassOptions& options,
            const StatedTokens& stated)
      : rules_(rules), options_(options), stated_(stated) {}

  SlowClassTokens collect() {
    for (const char* key : kSpecialTokenKeys) add_named(key);
    std::vector<StatedToken> additional = stated_.additional.value_or(default_additional());
    const std::vector<StatedToken> own = own_additional(additional);
    additional.insert(additional.end(), own.begin(), own.end());
    for (StatedToken& token : additional) add(std::move(token));
    for (const StatedToken& token : stated_.extra) add(token);
    result_.by_id = stated_.added;
    return std::move(result_);
  }

 private:
  void add(StatedToken token) {
    if (token.token.content.empty() || !contents_.insert(token.token.content).second) return;
    result_.special.push_back(std::move(token));
  }

  void add_named(const std::string& key) {
    const auto own = std::ranges::find(rules_.tokens, key, &SlowToken::name);
    const bool has_own = own != rules_.tokens.end();
    std::optional<StatedToken> token;
    if (const auto found = stated_.named.find(key); found != stated_.named.end()) {
      token = found->second;
    } else if (has_own && !own->content.empty()) {
      token = text_token(own->content);
    }
    if (!token) return;
    result_.named[key] = token->token.content;
    add(with_form(std::move(*token), has_own ? own->form : SlowTokenForm::kString));
  }

  std::vector<StatedToken> default_additional() const {
    std::vector<StatedToken> tokens;
    for (const std::string_view content : rules_.additional) tokens.push_back(text_token(content));
    return tokens;
  }

  // Returns the tokens that T5Tokenizer and MBartTokenizer add to the stated ones.
  std::vector<StatedToken> own_additional(const std::vector<StatedToken>& stated) const {
    std::vector<StatedToken> own;
    for (const std::string_view language : languages_of(rules_.tail))
      own.push_back(text_token(language));
    if (rules_.tail != TailPieces::kExtraIds) return own;
    const std::vector<StatedToken> extra =
        extra_id_tokens(stated, options_.extra_ids(), options_.where());
    own.insert(own.end(), extra.begin(), extra.end());
    return own;
  }

  const SlowClassRules& rules_;
  const SlowClassOptions& options_;
  const StatedTokens& stated_;
  SlowClassTokens result_;
  std::set<std::string> contents_;
};

}  // namespace

const std::string* SlowClassTokens::find(const std::string& key) const {
  const auto found = named.find(key);
  return found == named.end() ? nullptr : &found->second;
}

SlowClassTokens slow_class_tokens(const SlowClassRules& rules, const SlowClassOptions& options,
                                  const StatedTokens& stated) {
  return Collector(rules, options, stated).collect();
}

void add_slow_class_tokens(const SlowClassTokens& tokens, const std::string& where,
                           AddedVocabulary& vocabulary) {
  std::set<std::string> contents;
  for (const StatedToken& token : tokens.special) contents.insert(token.token.content);
  for (const auto& [id, token] : tokens.by_id) {
    AddedToken added = token;
    added.special = added.special || contents.contains(added.content);
    vocabulary.add(added);
    vocabulary.require_id(added.content, {.id = id, .where = where, .file = "a file beside it"});
  }
  for (StatedToken token : tokens.special) {
    if (!token.has_flags && vocabulary.has(token.token.content)) continue;
    token.token.special = true;
    // If no file states flags of the token, it is searched for in the raw text, as special tokens
    // are.
    if (!token.has_flags) token.token.normalized = false;
    vocabulary.add(token.token);
  }
}

}  // namespace encode
