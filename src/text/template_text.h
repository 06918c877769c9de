// Makes the text of a record from the values of several fields, as a template says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"

#include "base/text_template.h"
#include "text/record.h"

namespace encode {

// Returns the fields of the template or, without one, options.field. Throws what TextTemplate
// throws.
std::vector<std::string> fields_of(const InputOptions& options);

// Not thread-safe.
class TemplateText {
 public:
  // The options must have a template. Throws what TextTemplate throws.
  explicit TemplateText(const InputOptions& options);

  const std::vector<std::string>& fields() const { return template_.fields(); }

  // Sets the value of a field in the next text. `value` must stay valid until finish().
  void set(size_t field, std::string_view value) { values_[field] = value; }
  // Says that the record has no value for a field, which `problem` describes. Returns false, and
  // makes it the problem of the record, if the options refuse this.
  bool set_missing(size_t field, const RowProblem& problem, Record& record);

  // Sets the text of the record, which is valid until the next call, and the place of
  // InputOptions::passage_field in it, or the problem of the record. Every field must have been
  // set.
  void finish(Record& record);

 private:
  TextTemplate template_;
  std::optional<size_t> passage_field_;  // the index of InputOptions::passage_field
  bool missing_is_empty_;
  int64_t most_bytes_;
  std::vector<std::string_view> values_;
  std::string text_;
};

}  // namespace encode
