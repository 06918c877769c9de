// Says where a JSON document has the text of a row: the name of a top-level field, or a JSON
// pointer (RFC 6901).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// Immutable. Any number of threads may use it.
class JsonFieldPath {
 public:
  // The whole document.
  JsonFieldPath() = default;
  // "text" is a name, and "/a/b" is a pointer. In a pointer, "~1" stands for '/' and "~0" for '~'.
  // Throws Error (kConfig) if `field` is empty or has a bad escape.
  explicit JsonFieldPath(const std::string& field);

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::string& spelled() const { return spelled_; }

  // Returns the JSON pointer of the first `count` tokens; "" for the whole document.
  std::string pointer(size_t count) const;
  // Returns the token of a JSON pointer that stands for a name.
  static std::string escaped(std::string_view name);

  // Returns the array index that a token of a pointer states (digits without leading zeros), or -1
  // if the token is not an index.
  static int64_t array_index(std::string_view token);

 private:
  std::vector<std::string> tokens_;
  std::string spelled_;
};

}  // namespace encode
