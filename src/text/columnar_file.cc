#include "text/columnar_file.h"

#include <fmt/format.h>

#include "base/units.h"
#include "columnar/columnar.h"
#include "text/checked_file.h"

namespace encode {
namespace {

class ColumnarFile final : public InputFile {
 public:
  ColumnarFile(const ColumnRequest& request, bool hashed)
      : file_(request.path, hashed),
        column_(request.column),
        reader_(open_column(file_, request)) {}

  bool next(Record& record) override {
    if (!reader_->next(value_)) return false;
    record.begin(++row_, 0);
    switch (value_.kind) {
      case ColumnValue::Kind::kText:
        record.text = value_.text;
        break;
      case ColumnValue::Kind::kIds:
        record.tokenized = true;
        record.input_ids = value_.ids;
        break;
      case ColumnValue::Kind::kNull:
        record.problem = {.code = "arrow.null",
                          .what = fmt::format("the column '{}' has no value", preview(column_)),
                          .expected = "a string, or a list of token ids",
                          .found = "null"};
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
  std::unique_ptr<ColumnReader> reader_;
  ColumnValue value_;
  int64_t row_ = 0;  // the number of rows of the file before the next one
};

}  // namespace

std::unique_ptr<InputFile> open_columnar_file(const InputOptions& options, TextFormat format,
                                              const FileReading& reading) {
  const ColumnRequest request = {
      .format = format,
      .path = options.path,
      .column = options.field,
      .values = reading.any_values ? ColumnRequest::Values::kAny : ColumnRequest::Values::kRows};
  // Hashing a large file takes minutes, so a wrong column is refused first.
  if (reading.hashed) {
    CheckedFile file(request.path, /*hashed=*/false);
    open_column(file, request);
  }
  return std::make_unique<ColumnarFile>(request, reading.hashed);
}

}  // namespace encode
