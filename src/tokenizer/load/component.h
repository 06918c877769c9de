// Reads the components of a tokenizer.json (normalizers, pre-tokenizers, post-processors). An
// unknown key is an error, and the message names the key.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tokenizer/split/text_pattern.h"

namespace encode {

// A JSON object with a "type". It keeps a reference to the JSON. Malformed values throw Error
// (kConfig). The JSON must outlive the component. Not thread-safe.
class Component {
 public:
  Component(const Json& json, std::string where);

  const std::string& type() const { return type_; }
  const std::string& where() const { return where_; }  // "tokenizer.json: normalizer.Sequence[0]"
  const Json& json() const { return json_; }
  const JsonFields& fields() const { return fields_; }

  // Throws Error (kConfig) if there are keys other than "type" and `keys`.
  void allow(std::initializer_list<std::string_view> keys) const;
  bool boolean(const std::string& key) const;  // throws if the key is missing
  // Returns component `index` of a sequence. Its where() ends with "Sequence[index]".
  Component child(const Json& json, size_t index) const;

 private:
  const Json& json_;
  std::string where_;
  JsonFields fields_;
  std::string type_;
};

// Reads the "pattern" of a component: {"String": ..} or {"Regex": ..}. Throws Error (kConfig) for
// another form, and what make_regex_pattern() throws.
std::unique_ptr<TextPattern> load_pattern(const Component& component);
struct PatternText {
  std::string text;
  bool is_regex;
};
PatternText load_pattern_text(const Component& component);

// Returns the keys of a map, such as a table of loaders ("NFC, NFD"). std::views::keys() would do,
// but clang 14 cannot compile it with the library of GCC 12, and the fuzzers need clang.
template <typename Map>
std::string joined_names(const Map& map) {
  std::string names;
  for (const auto& [name, value] : map) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace encode
