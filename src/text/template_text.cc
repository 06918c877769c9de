#include "text/template_text.h"

#include <algorithm>

namespace encode {

std::vector<std::string> fields_of(const InputOptions& options) {
  if (!options.text_template.empty()) return TextTemplate(options.text_template).fields();
  return {options.field};
}

TemplateText::TemplateText(const InputOptions& options)
    : template_(options.text_template),
      missing_is_empty_(options.missing_field == MissingFieldPolicy::kEmpty),
      most_bytes_(options.max_row_bytes),
      values_(template_.fields().size()) {
  const std::vector<std::string>& fields = template_.fields();
  const auto cut = std::find(fields.begin(), fields.end(), options.passage_field);
  if (cut != fields.end()) passage_field_ = static_cast<size_t>(cut - fields.begin());
}

bool TemplateText::set_missing(size_t field, const RowProblem& problem, Record& record) {
  values_[field] = {};
  if (missing_is_empty_) return true;
  record.problem = problem;
  return false;
}

void TemplateText::finish(Record& record) {
  if (!template_.render(values_, static_cast<size_t>(most_bytes_), text_)) {
    record.problem = too_long_problem(most_bytes_);
    return;
  }
  record.text = text_;
  if (!passage_field_) return;
  record.bytes_before = template_.begin_of(*passage_field_, values_);
  record.bytes_after = text_.size() - record.bytes_before - values_[*passage_field_].size();
}

}  // namespace encode
