#include "store/final_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/output_types.h"
#include "columnar/table.h"
#include "store/matrix_file.h"

namespace encode {
namespace {

bool is_number(const TableColumn& column) {
  return column.source == kRowColumn || column.source == kSourceRowSource;
}

TableSchema schema_of(const std::string& path, const Manifest& manifest) {
  TableSchema schema = {.parquet = manifest.file == MatrixFormat::kParquet,
                        .path = path,
                        .item = facts_of(manifest.type).item,
                        .items = manifest.columns,
                        .columns = {},
                        .metadata = {{"encode.output_dtype", std::string(to_string(manifest.type))},
                                     {"encode.dim", fmt::to_string(manifest.identity.dim)}}};
  for (const TableColumn& column : manifest.table_columns)
    schema.columns.push_back({.name = column.name, .numbers = is_number(column)});
  return schema;
}

// A final matrix as a Parquet or Arrow IPC file. Collects rows into groups of about kGroupBytes and
// writes each group at once. The end of a group depends only on the rows, so equal rows give equal
// bytes.
class TableFile final : public FinalFile, private ByteSink {
 public:
  static constexpr int64_t kGroupBytes = int64_t{32} << 20;
  static constexpr int64_t kMostGroupRows = int64_t{1} << 20;

  // See begin_final_file() for the arguments and the errors.
  TableFile(const std::string& path, const Manifest& manifest, const FinalColumns& columns);

  void append(std::span<const float> values) override;
  void append_bytes(std::span<const std::byte> bytes) override;
  void publish() override;
  const std::string& path() const override { return file_.path(); }
  int64_t rows_written() const override { return rows_written_; }
  int64_t bytes_written() const override { return file_.bytes_written(); }
  std::string xxh3_hex() const override { return hash_.hex(); }

 private:
  void write(std::span<const char> bytes) override;
  void append_row(std::span<const std::byte> vector);
  void append_columns();
  void read_row();
  void write_group();

  TableSchema schema_;
  std::vector<bool> source_rows_;  // for each column: whether it has the numbers of the records
  int64_t rows_ = 0;               // of the table
  int64_t row_bytes_ = 0;
  const FinalColumns& columns_;
  int64_t stream_row_;                    // the row of the stream that comes next
  std::unique_ptr<ColumnSource> source_;  // null if no column comes from the input
  std::vector<std::optional<std::string>> values_;
  AtomicFile file_;
  Xxh3 hash_;
  std::unique_ptr<TableWriter> writer_;
  TableRows group_;
  int64_t group_bytes_ = 0;
  int64_t rows_written_ = 0;
};

TableFile::TableFile(const std::string& path, const Manifest& manifest, const FinalColumns& columns)
    : schema_(schema_of(path, manifest)),
      rows_(manifest.vectors()),
      row_bytes_(manifest.columns * item_facts(manifest.type).bytes),
      columns_(columns),
      stream_row_(columns.rows.range().begin),
      file_(path, 0),
      writer_(open_table_writer(*this, schema_)) {
  for (const TableColumn& column : manifest.table_columns)
    source_rows_.push_back(column.source == kSourceRowSource);
  const bool from_input =
      std::any_of(manifest.table_columns.begin(), manifest.table_columns.end(),
                  [](const TableColumn& column) { return column.source != kRowColumn; });
  if (from_input) source_ = columns.open();
  group_.columns.resize(schema_.columns.size());
}

void TableFile::append(std::span<const float> values) {
  require_finite(values, schema_.items, [this](int64_t row) {
    return fmt::format("{}: row {}", file_.path(), rows_written_ + row);
  });
  append_bytes(std::as_bytes(values));
}

void TableFile::append_bytes(std::span<const std::byte> bytes) {
  require_whole_rows(file_.path(), bytes, {.row_bytes = row_bytes_, .most = rows_ - rows_written_});
  const auto row_bytes = static_cast<size_t>(row_bytes_);
  for (size_t at = 0; at < bytes.size(); at += row_bytes) append_row(bytes.subspan(at, row_bytes));
}

void TableFile::append_row(std::span<const std::byte> vector) {
  const int64_t row = columns_.rows.row_of(rows_written_);
  while (stream_row_ <= row) read_row();
  append_columns();
  group_.vectors.insert(group_.vectors.end(), vector.begin(), vector.end());
  group_bytes_ += row_bytes_;
  ++group_.rows;
  ++rows_written_;
  if (group_bytes_ >= kGroupBytes || group_.rows >= kMostGroupRows) write_group();
}

// Reads the values of the row stream_row_ from the input into values_.
void TableFile::read_row() {
  if (source_ != nullptr) source_->next(values_);
  ++stream_row_;
}

void TableFile::append_columns() {
  auto value = values_.cbegin();
  for (size_t i = 0; i < schema_.columns.size(); ++i) {
    TableRows::Column& column = group_.columns[i];
    if (schema_.columns[i].numbers) {
      column.numbers.push_back(source_rows_[i] ? source_->source_row() : stream_row_ - 1);
      group_bytes_ += static_cast<int64_t>(sizeof(int64_t));
      continue;
    }
    if (*value) column.bytes += **value;
    column.offsets.push_back(static_cast<int32_t>(column.bytes.size()));
    column.present.push_back(*value ? 1 : 0);
    group_bytes_ += static_cast<int64_t>(sizeof(int32_t)) + (*value ? std::ssize(**value) : 0);
    ++value;
  }
}

void TableFile::write_group() {
  if (group_.rows == 0) return;
  writer_->write(group_);
  group_.rows = group_bytes_ = 0;
  group_.vectors.clear();
  for (TableRows::Column& column : group_.columns) column = {};
}

void TableFile::publish() {
  require_all_rows(file_.path(), rows_, rows_written_);
  write_group();
  while (stream_row_ < columns_.rows.range().end) read_row();  // the last rows may be dropped ones
  if (source_ != nullptr) source_->finish();
  writer_->finish();
  file_.commit();
}

void TableFile::write(std::span<const char> bytes) {
  hash_.update(bytes.data(), bytes.size());
  file_.write(bytes.data(), bytes.size());
}

}  // namespace

std::unique_ptr<FinalFile> begin_final_file(const std::string& path, const Manifest& manifest,
                                            const FinalColumns& columns) {
  if (manifest.file == MatrixFormat::kNpy) {
    return std::make_unique<NpyWriter>(path,
                                       MatrixShape{.rows = {.begin = 0, .end = manifest.vectors()},
                                                   .columns = manifest.columns,
                                                   .item = facts_of(manifest.type).item});
  }
  return std::make_unique<TableFile>(path, manifest, columns);
}

}  // namespace encode
