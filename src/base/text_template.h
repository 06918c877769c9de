// The template of a text (InputOptions::text_template): literal text, with the names of fields in
// braces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// Immutable. Any number of threads may use it.
class TextTemplate {
 public:
  static constexpr size_t kMostFields = 64;  // different fields of one template

  // Reads a template such as "title: {title} | text: {/body/main}". A field is named as in
  // InputOptions::field, and its name ends at the first '}'. "{{" and "}}" stand for a brace in the
  // literal text. Throws Error kConfig "config.value", with "text" as its place, if a brace is not
  // closed or not opened, a name is empty, or there is no field or more than kMostFields.
  explicit TextTemplate(std::string_view spelled);

  // The names of the fields, each once, in the order in which they first occur.
  const std::vector<std::string>& fields() const { return fields_; }

  // Sets `text` to the template with these values in place of the fields; `values` has the order of
  // fields(). Returns false, and leaves `text` as it is, if the text would have more than
  // `most_bytes` bytes.
  bool render(std::span<const std::string_view> values, size_t most_bytes, std::string& text) const;

  // Returns how often a field occurs.
  int64_t occurrences(std::string_view field) const;
  // Returns the byte of the rendered text at which the first occurrence of a field begins; `field`
  // is an index into fields().
  size_t begin_of(size_t field, std::span<const std::string_view> values) const;

 private:
  // Literal text with the field that follows it.
  struct Part {
    std::string literal;
    size_t field = 0;  // an index into fields_
  };

  void add(std::string literal, const std::string& field);

  std::vector<std::string> fields_;
  std::vector<Part> parts_;
  std::string tail_;  // the literal text behind the last field
};

}  // namespace encode
