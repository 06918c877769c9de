// Strict reading of tokenizer.json's components: every key is known or the file is refused, by
// name.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tokenizer/refusal.h"
#include "tokenizer/split/text_pattern.h"

namespace encode {

// One JSON object with a "type".
class Component {
 public:
  Component(const Json& json, std::string where);

  const std::string& type() const { return type_; }
  const std::string& where() const { return where_; }  // "tokenizer.json: normalizer.Sequence[0]"
  const Json& json() const { return json_; }
  const JsonFields& fields() const { return fields_; }

  // Refuses keys other than "type" and these.
  void allow(std::initializer_list<std::string_view> keys) const;
  bool boolean(const std::string& key) const;  // must be there
  Component child(const Json& json, size_t index) const;

 private:
  const Json& json_;
  std::string where_;
  JsonFields fields_;
  std::string type_;
};

// {"String": ..} or {"Regex": ..}
std::unique_ptr<TextPattern> load_pattern(const Component& component);
struct PatternText {
  std::string text;
  bool is_regex;
};
PatternText load_pattern_text(const Component& component);

}  // namespace encode
