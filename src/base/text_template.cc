#include "base/text_template.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

constexpr const char* kExample = "as in \"title: {title} | text: {/body/main}\"";

[[noreturn]] void refuse(std::string what, std::string expected, std::string found,
                         std::string hint) {
  throw Error({.code = "config.value",
               .what = std::move(what),
               .where = "text",
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = std::move(hint)});
}

// Returns the template from a brace on, for a message.
std::string from_brace(std::string_view spelled, size_t brace) {
  constexpr size_t kShownBytes = 60;
  return fmt::format("'{}' at byte {} of the template", preview(spelled.substr(brace), kShownBytes),
                     brace + 1);
}

// Returns the name that begins behind the brace at `brace`.
std::string_view name_at(std::string_view spelled, size_t brace) {
  const size_t end = spelled.find_first_of("{}", brace + 1);
  if (end == std::string_view::npos || spelled[end] == '{') {
    refuse("a brace of the template is not closed", "a name of a field between { and }",
           from_brace(spelled, brace), "close it with }, or write {{ for a brace in the text");
  }
  const std::string_view name = spelled.substr(brace + 1, end - brace - 1);
  if (name.empty()) {
    refuse(
        "a field of the template has no name", "the name of a field between { and }",
        from_brace(spelled, brace),
        fmt::format("write the name between the braces, {}; {{{{}}}} stands for {{}} in the text",
                    kExample));
  }
  return name;
}

}  // namespace

TextTemplate::TextTemplate(std::string_view spelled) {
  std::string literal;
  for (size_t at = 0; at < spelled.size(); ++at) {
    const char c = spelled[at];
    if (c != '{' && c != '}') {
      literal += c;
      continue;
    }
    if (spelled.substr(at + 1).starts_with(c)) {
      literal += c;
      ++at;
      continue;
    }
    if (c == '}') {
      refuse("a brace of the template is not opened",
             "{ before the name of a field, and } behind it", from_brace(spelled, at),
             "write }} for a brace in the text");
    }
    const std::string_view name = name_at(spelled, at);
    add(std::exchange(literal, {}), std::string(name));
    at += name.size() + 1;
  }
  tail_ = std::move(literal);
  if (fields_.empty()) {
    refuse(
        "the template has no field", "the name of a field between { and }",
        fmt::format("'{}'", preview(spelled)),
        fmt::format("put the names of fields in braces, {}; to name a single field, give --field "
                    "NAME (field in the config)",
                    kExample));
  }
}

void TextTemplate::add(std::string literal, const std::string& field) {
  const auto found = std::find(fields_.begin(), fields_.end(), field);
  parts_.push_back(
      {.literal = std::move(literal), .field = static_cast<size_t>(found - fields_.begin())});
  if (found != fields_.end()) return;
  if (fields_.size() == kMostFields) {
    refuse("the template has too many fields", fmt::format("at most {} fields", kMostFields),
           fmt::format("more; the next one is '{}'", preview(field)),
           "write the texts with a program of your own, and encode its output");
  }
  fields_.push_back(field);
}

bool TextTemplate::render(std::span<const std::string_view> values, size_t most_bytes,
                          std::string& text) const {
  size_t size = tail_.size();
  for (const Part& part : parts_) size += part.literal.size() + values[part.field].size();
  if (size > most_bytes) return false;
  text.clear();
  text.reserve(size);
  for (const Part& part : parts_) text.append(part.literal).append(values[part.field]);
  text += tail_;
  return true;
}

int64_t TextTemplate::occurrences(std::string_view field) const {
  return std::count_if(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return fields_[part.field] == field; });
}

size_t TextTemplate::begin_of(size_t field, std::span<const std::string_view> values) const {
  size_t begin = 0;
  for (const Part& part : parts_) {
    begin += part.literal.size();
    if (part.field == field) break;
    begin += values[part.field].size();
  }
  return begin;
}

}  // namespace encode
