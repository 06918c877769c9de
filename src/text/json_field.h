// Which value of a JSON document is the text: a top-level name, or an RFC 6901 pointer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace encode {

class JsonFieldPath {
 public:
  // "text" is a name; "/a/b" is a pointer ("~1" is '/', "~0" is '~'). Throws Error (kConfig) for an
  // empty field or a bad escape.
  explicit JsonFieldPath(const std::string& field);

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::string& spelled() const { return spelled_; }

  // The array index that RFC 6901 reads in a token, or -1: digits without leading zeros.
  static int64_t array_index(std::string_view token);

 private:
  std::vector<std::string> tokens_;
  std::string spelled_;
};

}  // namespace encode
