#include "text/json_field.h"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>

#include "encode/error.h"

namespace encode {
namespace {

[[noreturn]] void refuse_field(const std::string& field, std::string what, std::string expected) {
  throw Error(
      {.code = "jsonl.pointer",
       .what = std::move(what),
       .where = "field",
       .expected = std::move(expected),
       .found = fmt::format("'{}'", field),
       .hint = "use the name of a top-level field, or a JSON pointer such as /a/b or /a/0"});
}

std::string unescape_token(std::string_view escaped, const std::string& field) {
  std::string token;
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '~') {
      token += escaped[i];
      continue;
    }
    ++i;
    if (i == escaped.size() || (escaped[i] != '0' && escaped[i] != '1')) {
      refuse_field(field, "bad escape in a JSON pointer", "~0 (a tilde) or ~1 (a slash)");
    }
    token += escaped[i] == '0' ? '~' : '/';
  }
  return token;
}

}  // namespace

JsonFieldPath::JsonFieldPath(const std::string& field) : spelled_(field) {
  if (field.empty()) {
    refuse_field(field, "JSONL needs the name of the field that holds the text",
                 "a name or a JSON pointer");
  }
  if (field.front() != '/') {
    tokens_.push_back(field);
    return;
  }
  for (size_t begin = 1; begin <= field.size();) {
    size_t end = field.find('/', begin);
    if (end == std::string::npos) end = field.size();
    tokens_.push_back(unescape_token(std::string_view(field).substr(begin, end - begin), field));
    begin = end + 1;
  }
}

std::string JsonFieldPath::pointer(size_t count) const {
  std::string text;
  for (size_t i = 0; i < count; ++i) text.append("/").append(escaped(tokens_[i]));
  return text;
}

std::string JsonFieldPath::escaped(std::string_view name) {
  std::string token;
  for (const char c : name) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

int64_t JsonFieldPath::array_index(std::string_view token) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return -1;
  if (token.find_first_not_of("0123456789") != std::string_view::npos) return -1;
  int64_t index = -1;
  const auto [end, problem] = std::from_chars(token.data(), token.data() + token.size(), index);
  return problem == std::errc() ? index : -1;
}

}  // namespace encode
