#include "shards/part_columns.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include "encode/vector_rows.h"

#include "base/output_types.h"
#include "columnar/columnar.h"
#include "columnar/matrix_reader.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// One column. Not thread-safe.
class PartColumn {
 public:
  PartColumn(const std::string& path, MatrixFormat format, const std::string& name)
      : file_(path),
        reader_(open_column(
            file_,
            {.format = format == MatrixFormat::kParquet ? TextFormat::kParquet : TextFormat::kArrow,
             .path = path,
             .column = name,
             .values = ColumnRequest::Values::kAny})) {}

  std::optional<std::string> next() {
    ColumnValue value;
    if (!reader_->next(value))
      throw damage("a part has fewer rows than its manifest says", file_.path(), "another row",
                   "the end of the table");
    if (value.kind != ColumnValue::Kind::kText) return std::nullopt;
    return std::string(value.text);
  }

 private:
  FileBytes file_;
  std::unique_ptr<ColumnReader> reader_;
};

class PartColumns final : public ColumnSource {
 public:
  PartColumns(const std::string& path, const Manifest& manifest)
      : path_(path),
        of_passages_(manifest.identity.passages),
        rows_(read_vector_rows(path, manifest)),
        row_(manifest.identity.first_row) {
    for (const TableColumn& column : manifest.table_columns) {
      if (column.source == kSourceRowSource)
        source_rows_ = std::make_unique<PartColumn>(path, manifest.file, column.name);
      else if (!is_number_column(column))
        columns_.push_back(std::make_unique<PartColumn>(path, manifest.file, column.name));
    }
  }

  void next(std::vector<std::optional<std::string>>& values) override {
    values.assign(columns_.size(), std::nullopt);
    // Without passages, the table may lack the row.
    if (!of_passages_ && !rows_.vector_of(row_++)) return;
    for (size_t i = 0; i < columns_.size(); ++i) values[i] = columns_[i]->next();
    if (source_rows_ == nullptr) return;
    const std::string number = source_rows_->next().value_or("");
    const char* const end = number.data() + number.size();
    if (const auto read = std::from_chars(number.data(), end, source_row_);
        read.ec != std::errc() || read.ptr != end)
      throw damage("a part has a source row that is no number", path_, "a number", number);
  }
  int64_t source_row() const override { return source_row_; }
  void finish() override {}

 private:
  std::string path_;
  bool of_passages_;
  VectorRows rows_;
  int64_t row_;
  int64_t source_row_ = 0;                   // of the row before row_
  std::unique_ptr<PartColumn> source_rows_;  // null if the table has no such column
  // By pointer: the reader in a PartColumn points to the file in it, so that it must not move.
  std::vector<std::unique_ptr<PartColumn>> columns_;
};

}  // namespace

bool has_input_columns(const FinalFormat& format) {
  return std::ranges::any_of(format.columns, [](const TableColumn& column) {
    return column.source == kSourceRowSource || !is_number_column(column);
  });
}

ColumnOpener columns_of_part(const std::string& path, const Manifest& manifest) {
  return [path, manifest] { return std::make_unique<PartColumns>(path, manifest); };
}

}  // namespace encode
