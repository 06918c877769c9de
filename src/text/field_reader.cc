// Reads the rows of a scan with other fields of their records. A ScannedTexts says which records
// are rows, and each field has a reader of its own, which reads the records up to the record of the
// row.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "base/units.h"
#include "base/utf8.h"
#include "text/file_identity.h"
#include "text/input_file.h"
#include "text/row_reader.h"
#include "text/template_text.h"
#include "text/text_format.h"

namespace encode {
namespace {

constexpr const char* kInputChanged = "the input is not the one that was read when the run began";

InputOptions options_for(const InputOptions& input, const std::string& field) {
  InputOptions options = input;
  options.field = field;
  options.text_template.clear();
  options.more_paths.clear();
  return options;
}

FileReading reading_of(bool hashed) {
  return {.hashed = hashed, .block_bytes = RowReader::kBlockBytes, .any_values = true};
}

// Returns true if the record has no value. Every other problem is an error.
bool is_absent(const RowProblem& problem) {
  return problem.code == "jsonl.missing" || problem.code == "jsonl.type" ||
         problem.code == "arrow.null";
}

// The values of one field. Not thread-safe.
class Field {
 public:
  Field(const InputOptions& input, const InputScan& scan, const std::string& name)
      : options_(options_for(input, name)), scan_(scan) {}

  // Returns the value in the record of a row. The rows must come in order.
  std::optional<std::string> value(const Text& row) {
    open_file_of(row.row);
    while (record_.line < row.line) {
      if (!file_->next(record_))
        throw changed_in_run(options_.path, kInputChanged, fmt::format("a record {}", row.line),
                             "none");
    }
    if (record_.line != row.line)
      throw changed_in_run(options_.path, kInputChanged, fmt::format("a record {}", row.line),
                           fmt::format("a record {}", record_.line));
    if (record_.problem) {
      if (is_absent(record_.problem)) return std::nullopt;
      throw record_error(
          record_, options_.path,
          fmt::format("correct the record, or take '{}' out of --columns (output.columns "
                      "in the config)",
                      preview(options_.field)));
    }
    if (is_valid_utf8(record_.text)) return std::string(record_.text);
    std::string repaired;
    append_repaired_utf8(record_.text, repaired);
    return repaired;
  }

  // Compares the open file with the one of the scan.
  void finish() {
    if (file_ == nullptr) return;
    const InputScan::File& expected = scan_.files[index_];
    const FileDigest found = file_->digest();
    if (found.identity.bytes == expected.bytes && found.sha256 == expected.sha256) return;
    throw changed_in_run(
        options_.path, kInputChanged,
        fmt::format("{} bytes with the SHA-256 {}", expected.bytes, expected.sha256),
        fmt::format("{} bytes with the SHA-256 {}", found.identity.bytes, found.sha256));
  }

 private:
  void open_file_of(int64_t row) {
    const auto after = std::upper_bound(
        scan_.files.begin(), scan_.files.end(), row,
        [](int64_t number, const InputScan::File& file) { return number < file.first_row; });
    const auto index = static_cast<size_t>(after - scan_.files.begin()) - 1;
    if (file_ != nullptr && index == index_) return;
    finish();
    file_.reset();
    index_ = index;
    options_.path = scan_.files[index].path;
    record_ = {};
    file_ = open_input_file(options_, reading_of(/*hashed=*/true));
  }

  InputOptions options_;  // `path` is the path of the file that is open
  const InputScan& scan_;
  std::unique_ptr<InputFile> file_;  // null before the first row
  size_t index_ = 0;                 // the index of the file
  Record record_;
};

class FieldReader final : public ScannedFields {
 public:
  FieldReader(const InputOptions& options, const InputScan& scan,
              const std::vector<std::string>& fields)
      : texts_(open_scanned_texts(options, scan)) {
    for (const std::string& field : fields)
      fields_.push_back(std::make_unique<Field>(options, scan, field));
  }

  bool next(FieldRow& row) override {
    if (!texts_->next(text_)) return false;
    row.text.reset();
    if (!text_.tokenized) row.text = text_.utf8;
    row.fields.clear();
    for (const auto& field : fields_) row.fields.push_back(field->value(text_));
    return true;
  }

  void finish() override {
    for (const auto& field : fields_) field->finish();
  }

 private:
  std::unique_ptr<ScannedTexts> texts_;
  std::vector<std::unique_ptr<Field>> fields_;  // an open file refers to its Field
  Text text_;
};

constexpr int64_t kMostSearched = 1000;  // records

// Returns how many records of a file of JSON were read, up to kMostSearched, and found to lack the
// field; 0 if one of them has it.
int64_t records_without_field(InputFile& file) {
  Record record;
  int64_t records = 0;
  while (records < kMostSearched && file.next(record)) {
    ++records;
    if (record.problem.code != "jsonl.missing") return 0;
  }
  return records;
}

// Throws unless one of the first records of a file of JSON has the field.
void require_in_records(InputFile& file, const InputOptions& options) {
  const int64_t records = records_without_field(file);
  if (records == 0) return;
  throw Error({.code = "output.column",
               .what = fmt::format("no row has the field '{}'", preview(options.field)),
               .where = options.path,
               .expected = fmt::format("'{}' in one of the first {} rows", preview(options.field),
                                       format_count(kMostSearched)),
               .found = fmt::format("it is missing in all of the first {}; the first has {}",
                                    format_count(records), list_fields(options)),
               .hint = "correct --columns (output.columns in the config): row and text are known, "
                       "and every other name is a "
                       "field of the input"});
}

}  // namespace

std::unique_ptr<ScannedFields> open_scanned_fields(const InputOptions& options,
                                                   const InputScan& scan,
                                                   const std::vector<std::string>& fields) {
  return std::make_unique<FieldReader>(options, scan, fields);
}

void require_fields(const InputOptions& options, const InputScan& scan,
                    const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    InputOptions of_file = options_for(options, field);
    for (const InputScan::File& part : scan.files) {
      of_file.path = part.path;
      const std::unique_ptr<InputFile> file =
          open_input_file(of_file, reading_of(/*hashed=*/false));
      if (facts_of(resolve_format(of_file).format).columns) continue;
      require_in_records(*file, of_file);
      break;
    }
  }
}

std::vector<std::string> unseen_fields(const InputOptions& options, const InputScan& scan) {
  std::vector<std::string> unseen;
  if (options.missing_field == MissingFieldPolicy::kError) return unseen;
  for (const std::string& field : fields_of(options)) {
    InputOptions of_file = options_for(options, field);
    of_file.path = scan.files.front().path;
    if (facts_of(resolve_format(of_file).format).columns) break;
    const std::unique_ptr<InputFile> file = open_input_file(of_file, reading_of(/*hashed=*/false));
    if (records_without_field(*file) > 0) unseen.push_back(field);
  }
  return unseen;
}

}  // namespace encode
