// One value of a config: its type, its check, its text.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "encode/error.h"

#include "config/yaml_tree.h"

namespace encode {

using Value = std::variant<std::monostate, bool, int64_t, std::string, std::vector<std::string>>;

enum class ValueType { kText, kInteger, kBoolean, kChoice, kNames };

struct ValueSpec {
  ValueType type = ValueType::kText;
  bool nullable = false;  // null: as the model directory says
  int64_t min = 0;        // integers: the value; texts: bytes; names: items
  int64_t max = 4096;
  std::vector<std::string> choices =
      {};                    // kChoice; kText: words that also match `pattern`, to suggest from
  std::string pattern = "";  // kText: a regular expression (ECMAScript)
  std::string pattern_words = "";  // the same in words
};

// Who asks, for messages.
struct ValueSource {
  std::string key;    // "semantic.dtype"
  std::string where;  // "experiment.yaml:12:5", "--dtype"
  ExitCode exit_code = ExitCode::kConfig;
};

// Throws Error "config.type" or "config.value" with what was expected and found.
Value parse_value(const ValueSpec& spec, const YamlNode& node, const ValueSource& source);
// The text of a flag or a default: texts literally, names as "tc,commit" or "[tc, commit]".
Value parse_value(const ValueSpec& spec, const std::string& text, const ValueSource& source);

std::string to_yaml(const Value& value);  // null, true, 1000, tc, "query: ", [tc, commit]
std::string quote_if_needed(const std::string& text);
std::string describe(const ValueSpec& spec);  // "an integer from 1 to 1000", "one of: cls, mean"
std::string describe(const YamlNode& node);   // "the integer 32", "a map", "nothing"

}  // namespace encode
