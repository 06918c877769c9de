// The tokens around a text, for the classes that make the post-processor anew.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "tokenizer/load/class_rules.h"
#include "tokenizer/load/tokenizer_document.h"

namespace encode {

// The facts that decide the tokens around a text.
struct TemplateSource {
  const Json& config;        // tokenizer_config.json, to tell null from an absent key
  const JsonFields& fields;  // the values of `config`, with their types checked
  TemplateRule rule;
  const std::map<std::string, std::string>& named;  // the named special tokens by key
};

// Replaces the post-processor of `document` if the rule says so. Throws Error kConfig:
// "tokenizer.format" if the tokenizer lacks a token that the rule adds, "tokenizer.contradiction"
// if tokenizer.json adds other tokens and no key decides.
void amend_template(const TemplateSource& source, TokenizerDocument& document);

}  // namespace encode
