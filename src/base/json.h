// Strict JSON for files that are not trusted: limits on size and depth, no duplicate keys, no NaN,
// no trailing text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace encode {

using Json = nlohmann::json;  // objects keep their keys sorted: dump() of it is canonical

struct JsonLimits {
  int64_t max_bytes = 1 << 20;
  int max_depth = 32;
};

// `where` names the document in messages; `code` is the error's code. Throws Error
// (ExitCode::kConfig) with line and column of what is wrong.
Json parse_json(std::string_view text, const JsonLimits& limits, const std::string& where,
                std::string_view code);
Json read_json_file(const std::string& path, const JsonLimits& limits, std::string_view code);

// Typed access to an object's fields, with errors that name the field, the expected and the found
// type and the document.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string where, std::string code);

  bool has(const std::string& key) const;  // present and not null
  int64_t integer(const std::string& key, int64_t min, int64_t max) const;
  int64_t integer_or(const std::string& key, int64_t fallback, int64_t min, int64_t max) const;
  double number(const std::string& key, double min, double max) const;
  double number_or(const std::string& key, double fallback, double min, double max) const;
  bool boolean_or(const std::string& key, bool fallback) const;
  std::string string(const std::string& key) const;
  std::string string_or(const std::string& key, const std::string& fallback) const;
  const Json& object(const std::string& key) const;
  const Json& array(const std::string& key) const;

  // The Error to throw for a field whose value is not acceptable for a reason of its own.
  [[noreturn]] void refuse(const std::string& key, const std::string& expected,
                           const std::string& found) const;

 private:
  const Json& at(const std::string& key, std::string_view expected) const;

  const Json& object_;
  std::string where_;
  std::string code_;
};

}  // namespace encode
