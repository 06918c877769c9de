#include "text/record_filter.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "base/utf8.h"
#include "text/file_identity.h"

namespace encode {
namespace {

// Returns the files that the filter reads.
PathList files_of(const InputFilter& filter, const PathList& own_paths) {
  if (!filter.reads_other_input()) return own_paths;
  InputOptions other;
  other.path = filter.paths.front();
  other.more_paths.assign(filter.paths.begin() + 1, filter.paths.end());
  return input_files(other);
}

// Returns the options for reading one field of the input of the filter.
InputOptions options_of_field(const InputOptions& input, const std::string& name) {
  InputOptions options = input;
  options.more_paths.clear();
  options.field = name;
  options.text_template.clear();
  options.missing_field = MissingFieldPolicy::kError;  // a missing field is null
  options.bad_row = BadRowPolicy::kReject;             // advice is slow
  if (input.filter.reads_other_input()) {
    options.format = input.filter.format;
    options.utf8 = input.filter.utf8;
    options.max_row_bytes = input.filter.max_row_bytes;
  }
  return options;
}

// NaN is no number that can be compared. An empty field is how a format without types writes null.
bool stands_for_null(const FilterValue& value) {
  if (value.kind == FilterValue::Kind::kUntyped) return value.text.empty();
  return value.kind == FilterValue::Kind::kNumber && value.text.ends_with("nan");
}

}  // namespace

RecordFilter::RecordFilter(const InputOptions& options, const PathList& paths, size_t block_bytes)
    : filter_(options.filter.where),
      other_input_(options.filter.reads_other_input()),
      input_path_(options.path),
      paths_(files_of(options.filter, paths)),
      reading_({.block_bytes = block_bytes, .any_values = true, .for_filter = true}),
      values_(filter_.fields().size()) {
  for (const std::string& name : filter_.fields()) {
    fields_.push_back(std::make_unique<Field>());
    fields_.back()->options = options_of_field(options, name);
  }
}

void RecordFilter::open(Field& field, size_t index) const {
  field.file.reset();
  field.index = index;
  field.options.path = paths_[index];
  field.file = open_input_file(field.options, reading_);
}

void RecordFilter::open_first() {
  for (const auto& field : fields_) open(*field, 0);
}

// Reads the next record of a field. Returns false at the end of the last file.
bool RecordFilter::advance(Field& field) const {
  if (field.file == nullptr) open(field, 0);
  while (!field.file->next(field.record)) {
    if (field.index + 1 == paths_.size()) return false;
    open(field, field.index + 1);
  }
  return true;
}

bool RecordFilter::advance_all() {
  for (const auto& field : fields_) {
    if (!advance(*field)) return false;
  }
  ++records_;
  return true;
}

WhereFilter::Verdict RecordFilter::next(Record& record) {
  if (!advance_all()) {
    refuse_records(fmt::format("more than {}, as in {}",
                               format_count(records_, "record", "records"), input_path_),
                   format_count(records_, "record", "records"));
  }
  if (!other_input_ && fields_.front()->record.line != record.line)
    throw changed_in_run(input_path_, "the input has changed while it was read",
                         fmt::format("a record {}", record.line),
                         fmt::format("a record {}", fields_.front()->record.line));
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (!take_value(*fields_[i], values_[i], record)) return WhereFilter::Verdict::kMismatch;
  }
  FilterMismatch mismatch;
  const WhereFilter::Verdict verdict = filter_.apply(values_, mismatch);
  if (verdict != WhereFilter::Verdict::kMismatch) return verdict;
  const Field& first = *fields_.front();
  record.problem = {.code = "filter.type",
                    .what = std::move(mismatch.what),
                    .expected = std::move(mismatch.expected),
                    .found = std::move(mismatch.found),
                    .hint = "correct the filter or the record"};
  if (other_input_)
    record.problem.place = fmt::format("{}:{}", first.options.path, first.record.line);
  return verdict;
}

// Sets the value of a field in its record. Returns false, and gives the record of the row a
// problem, if the record of the field is bad.
bool RecordFilter::take_value(Field& field, FilterValue& value, Record& record) const {
  RowProblem& problem = field.record.problem;
  value = {};
  if (problem && is_absent(problem)) return true;
  if (!problem) {
    value = {.kind = field.record.type, .text = field.record.text};
    if (stands_for_null(value)) value = {};
    if (is_valid_utf8(value.text)) return true;
    if (field.options.utf8 == Utf8Policy::kReplace) {
      field.repaired.clear();
      append_repaired_utf8(value.text, field.repaired);
      value.text = field.repaired;
      return true;
    }
    problem = {.code = "text.utf8",
               .what = fmt::format("the field '{}' of the filter is not valid UTF-8",
                                   preview(field.options.field)),
               .expected = "UTF-8",
               .found = fmt::format("an invalid sequence at byte {} of the field",
                                    first_invalid_utf8(value.text))};
  }
  if (record.problem && !other_input_)
    return false;  // the fault of the record is described already
  record.problem = problem;
  if (other_input_)
    record.problem.place = fmt::format("{}:{}", field.options.path, field.record.line);
  return false;
}

void RecordFilter::finish(int64_t records) {
  if (!other_input_ || !advance_all()) return;
  refuse_records(
      fmt::format("{}, as in {}", format_count(records, "record", "records"), input_path_),
      "more records");
}

void RecordFilter::refuse_records(std::string expected, std::string found) const {
  throw Error(
      {.code = "filter.records",
       .exit_code = ExitCode::kData,
       .what = "the inputs of the streams of a split have different numbers of records, so "
               "the filter cannot choose the same records of both",
       .where = paths_.back(),
       .expected = std::move(expected),
       .found = std::move(found),
       .hint = "record i of each stream must belong to the same sample; correct the inputs"});
}

void RecordFilter::go_to(const InputScan::Checkpoint& checkpoint) {
  if (!other_input_) {
    for (const auto& field : fields_) {
      const auto index = static_cast<size_t>(checkpoint.file);
      if (field->file == nullptr || field->index != index) open(*field, index);
      field->file->seek(checkpoint.offset_bytes, checkpoint.line);
    }
    records_ = checkpoint.rows_in;
    return;
  }
  if (records_ > checkpoint.rows_in) {
    open_first();
    records_ = 0;
  }
  while (records_ < checkpoint.rows_in) {
    if (!advance_all())
      refuse_records("the records of the first pass", format_count(records_, "record", "records"));
  }
}

}  // namespace encode
