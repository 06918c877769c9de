#include "tokenizer/load/component.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "base/units.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {

Component::Component(const Json& json, std::string where)
    : json_(json),
      where_(std::move(where)),
      fields_(json, where_, kTokenizerFormat),
      type_(fields_.string("type")) {}

void Component::allow(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : json_.items()) {
    if (key != "type" && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      refuse_unsupported(
          fmt::format("key {} of {} is not supported", quoted_token(key), type_), where_,
          {.expected = fmt::format("only the keys: type{}{}", keys.size() > 0 ? ", " : "",
                                   fmt::join(keys, ", ")),
           .found = quoted_token(key)});
    }
  }
}

bool Component::boolean(const std::string& key) const {
  if (!fields_.has(key)) fields_.refuse(key, "true or false", "the key is missing or null");
  return fields_.boolean_or(key, false);
}

Component Component::child(const Json& json, size_t index) const {
  return {json, fmt::format("{}.{}[{}]", where_, type_, index)};
}

PatternText load_pattern_text(const Component& component) {
  const Json& pattern = component.fields().object("pattern");
  const std::string where = fmt::format("{}.{}.pattern", component.where(), component.type());
  const JsonFields fields(pattern, where, kTokenizerFormat);
  const bool is_regex = pattern.contains("Regex");
  if (pattern.size() != 1 || (!is_regex && !pattern.contains("String"))) {
    refuse_format("malformed pattern", where, R"({"String": ".."} or {"Regex": ".."})",
                  preview(pattern.dump()));
  }
  std::string text = fields.string(is_regex ? "Regex" : "String");
  if (text.empty() || text.size() > kMaxPatternBytes) {
    refuse_format("the pattern has a wrong length", where,
                  fmt::format("1 to {} bytes", kMaxPatternBytes),
                  fmt::format("{} bytes", text.size()));
  }
  return {std::move(text), is_regex};
}

std::unique_ptr<TextPattern> load_pattern(const Component& component) {
  PatternText pattern = load_pattern_text(component);
  if (!pattern.is_regex) return make_literal_pattern(std::move(pattern.text));
  return make_regex_pattern(pattern.text,
                            fmt::format("{}.{}.pattern", component.where(), component.type()));
}

}  // namespace encode
