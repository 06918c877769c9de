// One value of a config.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "encode/error.h"

#include "config/yaml_tree.h"

namespace encode {

using Value = std::variant<std::monostate, bool, int64_t, std::string, std::vector<std::string>>;

// The Value of a kSize is its text, which parse_bytes() accepts.
// The Value of kPaths is a text, or a list of texts if the user has written a list.
enum class ValueType { kText, kInteger, kBoolean, kChoice, kNames, kSize, kPaths };

// The values that a key accepts.
struct ValueSpec {
  ValueType type = ValueType::kText;
  bool nullable = false;  // true if null is valid; KeySpec::help says what it means
  // The range of a kInteger, of the bytes of a kSize, of the size of a kText in bytes, or of the
  // number of names in kNames. For kPaths, the size of each text.
  int64_t min = 0;
  int64_t max = 4096;
  // For kChoice, the valid texts. For kInteger, words that are valid in place of a number. For
  // kText, some valid texts to suggest for typos.
  std::vector<std::string> choices = {};
  std::map<std::string, std::string> synonyms = {};  // other words for choices, for hints
  std::string pattern = "";        // for kText and kNames: an ECMAScript regular expression, or ""
  std::string pattern_words = "";  // a description of the valid values for messages
  // These three are only for kNames.
  std::string example = "";  // "[tc, commit]", for hints
  bool repeats = false;      // a name may occur more than once
  bool lone = false;         // a single name needs no list
};

// The key and the place of a value, for messages.
struct ValueSource {
  std::string key;    // for example "semantic.dtype"
  std::string where;  // "experiment.yaml:12:5", "--dtype"
  ExitCode exit_code = ExitCode::kConfig;
};

// Parses a value of a config file. Throws Error "config.type" or "config.value" that says what was
// expected and what was found.
Value parse_value(const ValueSpec& spec, const YamlNode& node, const ValueSource& source);
// Parses the text of a flag or of a default. A kText and a path are taken literally. kNames are
// written "tc,commit" or "[tc, commit]". Throws the same errors.
Value parse_value(const ValueSpec& spec, const std::string& text, const ValueSource& source);

std::string to_yaml(const Value& value);  // null, true, 1000, tc, "query: ", [tc, commit]
std::string quote_if_needed(const std::string& text);  // adds quotes if YAML would misread it
std::string describe(const ValueSpec& spec);  // "an integer from 1 to 1000", "one of: cls, mean"
std::string describe(const YamlNode& node);   // "the integer 32", "a map", "nothing"

}  // namespace encode
