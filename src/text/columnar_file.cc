#include "text/columnar_file.h"

#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/units.h"
#include "columnar/columnar.h"
#include "text/checked_file.h"
#include "text/template_text.h"

namespace encode {
namespace {

RowProblem null_problem(const std::string& column, std::string expected) {
  return {.code = "arrow.null",
          .what = fmt::format("the column '{}' has no value", preview(column)),
          .expected = std::move(expected),
          .found = "null",
          .no_value = true};
}

FilterValue::Kind type_of(ColumnValue::Type type) {
  if (type == ColumnValue::Type::kNumber) return FilterValue::Kind::kNumber;
  return type == ColumnValue::Type::kBoolean ? FilterValue::Kind::kBoolean
                                             : FilterValue::Kind::kString;
}

class ColumnarFile final : public InputFile {
 public:
  ColumnarFile(const ColumnRequest& request, bool hashed, bool null_is_empty)
      : file_(request.path, hashed),
        column_(request.column),
        null_is_empty_(null_is_empty),
        reader_(open_column(file_, request)) {}

  bool next(Record& record) override {
    if (!reader_->next(value_)) return false;
    record.begin(++row_, 0);
    switch (value_.kind) {
      case ColumnValue::Kind::kText:
        record.text = value_.text;
        record.type = type_of(value_.type);
        break;
      case ColumnValue::Kind::kIds:
        record.tokenized = true;
        record.input_ids = value_.ids;
        break;
      case ColumnValue::Kind::kNull:
        if (null_is_empty_) break;  // the text of the record is empty
        record.problem = null_problem(column_, "a string, or a list of token ids");
        break;
      case ColumnValue::Kind::kBadIds:
        record.problem = {
            .code = "arrow.input_ids",
            .what = fmt::format("the column '{}' is not a list of token ids", preview(column_)),
            .expected = "integers in [0, 2147483648)",
            .found = value_.found};
        break;
    }
    return true;
  }

  void seek(int64_t /*offset_bytes*/, int64_t line) override {
    row_ = line - 1;
    reader_->seek(row_);
  }

  FileDigest digest() override {
    file_.check_size();
    return {.identity = file_.identity(), .sha256 = file_.sha256()};
  }

 private:
  CheckedFile file_;
  std::string column_;
  bool null_is_empty_;
  std::unique_ptr<ColumnReader> reader_;
  ColumnValue value_;
  int64_t row_ = 0;  // the number of rows of the file before the next one
};

// The texts are made from several columns, each with a reader of its own.
class TemplateFile final : public InputFile {
 public:
  TemplateFile(const InputOptions& options, const ColumnRequest& request, bool hashed)
      : file_(request.path, hashed), text_(options), request_(request) {
    for (const std::string& column : text_.fields()) {
      ColumnRequest of_column = request;
      of_column.column = column;
      columns_.push_back({.reader = open_column(file_, of_column)});
    }
  }

  bool next(Record& record) override {
    size_t ended = 0;
    for (Column& column : columns_) ended += column.reader->next(column.value) ? 0 : 1;
    if (ended == columns_.size()) return false;
    if (ended > 0) refuse_lengths();
    record.begin(++row_, 0);
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ColumnValue& value = columns_[i].value;
      text_.set(i, value.text);
      if (value.kind == ColumnValue::Kind::kText) continue;
      if (!text_.set_missing(i, null_problem(text_.fields()[i], "a value"), record)) return true;
    }
    text_.finish(record);
    return true;
  }

  void seek(int64_t /*offset_bytes*/, int64_t line) override {
    row_ = line - 1;
    for (const Column& column : columns_) column.reader->seek(row_);
  }

  FileDigest digest() override {
    file_.check_size();
    return {.identity = file_.identity(), .sha256 = file_.sha256()};
  }

 private:
  struct Column {
    std::unique_ptr<ColumnReader> reader;
    ColumnValue value = {};
  };

  [[noreturn]] void refuse_lengths() const {
    throw Error({.code = "arrow.damaged",
                 .what = "the columns of the file have different lengths",
                 .where = request_.path,
                 .expected = "the same number of rows in every column",
                 .found = fmt::format("more than {} rows in only some of them", row_),
                 .hint = "write or copy the file again"});
  }

  CheckedFile file_;
  TemplateText text_;
  ColumnRequest request_;
  std::vector<Column> columns_;  // of the fields of the template, in order
  int64_t row_ = 0;              // the number of rows of the file before the next one
};

}  // namespace

std::unique_ptr<InputFile> open_columnar_file(const InputOptions& options, TextFormat format,
                                              const FileReading& reading) {
  const bool several = !options.text_template.empty();
  ColumnRequest request = {.format = format,
                           .path = options.path,
                           .column = options.field,
                           .values = reading.any_values || several ? ColumnRequest::Values::kAny
                                                                   : ColumnRequest::Values::kRows};
  // Hashing a large file takes minutes, so a wrong column is refused first.
  if (reading.hashed) {
    CheckedFile file(request.path, /*hashed=*/false);
    for (const std::string& column : fields_of(options)) {
      request.column = column;
      open_column(file, request);
    }
  }
  if (several) return std::make_unique<TemplateFile>(options, request, reading.hashed);
  const bool null_is_empty =
      options.missing_field == MissingFieldPolicy::kEmpty && !reading.any_values;
  return std::make_unique<ColumnarFile>(request, reading.hashed, null_is_empty);
}

}  // namespace encode
