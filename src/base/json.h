// Strict JSON for files that are not trusted. Size and depth are limited. Duplicate keys, NaN and
// text after the document are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "encode/error_code.h"

namespace encode {

using Json = nlohmann::json;  // objects keep their keys sorted, so dump() is canonical

inline constexpr std::string_view kJsonSpace = " \t\r\n";  // the white space between tokens

struct JsonLimits {
  int64_t max_bytes = 1 << 20;
  int max_depth = 32;
};

// Why a text is not a JSON document (RFC 8259).
struct JsonFault {
  size_t offset = 0;   // of the byte that is wrong; the size of the text if it ends early
  std::string reason;  // "NaN, which JSON does not have", "text after the end of the document"
};
// Returns the first fault, or nullopt if there is none. It does not look for duplicate keys and has
// no limit for the depth. Any thread may call it. Does not throw Error.
std::optional<JsonFault> find_json_fault(std::string_view text);

// Parses one JSON document. `where` names the document in messages, and `code` is the code of the
// Error. Throws Error kConfig with the line and the column of the problem.
Json parse_json(std::string_view text, const JsonLimits& limits, const std::string& where,
                ErrorCode code);
// Throws what read_file() and parse_json() throw.
Json read_json_file(const std::string& path, const JsonLimits& limits, ErrorCode code);

// Typed access to the fields of an object, which must outlive it. The functions throw Error kConfig
// that names the document, the field, what was expected and what was found. The range includes
// `min` and `max`. The functions ..._or() return `fallback` if the field is absent or null.
// Immutable. Any number of threads may use it.
class JsonFields {
 public:
  // Throws Error if `object` is not a JSON object.
  JsonFields(const Json& object, std::string where, ErrorCode code);

  bool has(const std::string& key) const;  // true if the field is present and not null
  int64_t integer(const std::string& key, int64_t min, int64_t max) const;
  int64_t integer_or(const std::string& key, int64_t fallback, int64_t min, int64_t max) const;
  double number(const std::string& key, double min, double max) const;
  double number_or(const std::string& key, double fallback, double min, double max) const;
  bool boolean_or(const std::string& key, bool fallback) const;
  std::string string(const std::string& key) const;
  std::string string_or(const std::string& key, const std::string& fallback) const;
  const Json& object(const std::string& key) const;
  const Json& array(const std::string& key) const;

  // The fields of an object in this one, which messages place at "<where>: <key>". Throws what
  // object() throws.
  JsonFields fields(const std::string& key) const;
  const std::string& where() const { return where_; }

  // Throws the Error for a field whose value is wrong. The hint is to correct the value. `found` is
  // the value of the field unless the caller states something else.
  [[noreturn]] void refuse(const std::string& key, const std::string& expected,
                           const std::optional<std::string>& found = std::nullopt) const;
  // Throws the Error for a field whose value is valid, but names a variant that encode does not
  // have. The hint is to choose another model, because with another value the file would no longer
  // describe the model that the weights belong to. `found` is as in refuse().
  [[noreturn]] void refuse_variant(const std::string& key, const std::string& expected,
                                   const std::optional<std::string>& found = std::nullopt) const;

 private:
  const Json& at(const std::string& key, std::string_view expected) const;
  std::string shown(const std::string& key) const;  // the value of the field, for a message

  const Json& object_;
  std::string where_;
  ErrorCode code_;
};

}  // namespace encode
