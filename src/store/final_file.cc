#include "store/final_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/output_types.h"
#include "columnar/table.h"
#include "store/matrix_file.h"
#include "store/passage_file.h"

namespace encode {
namespace {

TableSchema schema_of(const std::string& path, const Manifest& manifest) {
  TableSchema schema = {.parquet = manifest.file == MatrixFormat::kParquet,
                        .path = path,
                        .item = facts_of(manifest.type).item,
                        .items = manifest.columns,
                        .columns = {},
                        .metadata = {{"encode.output_dtype", std::string(to_string(manifest.type))},
                                     {"encode.dim", fmt::to_string(manifest.identity.dim)}}};
  for (const TableColumn& column : manifest.table_columns)
    schema.columns.push_back({.name = column.name, .numbers = is_number_column(column)});
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
  void append_number(const TableColumn& column, TableRows::Column& values);
  std::optional<std::string_view> shown(const TableColumn& column,
                                        const std::optional<std::string>& value) const;
  void read_row();
  void write_group();

  const std::vector<TableColumn> sources_;  // of the columns of schema_
  TableSchema schema_;
  int64_t rows_ = 0;  // of the table
  int64_t row_bytes_ = 0;
  const FinalColumns& columns_;
  int64_t stream_row_;                    // the row of the stream that source_ reads next
  int64_t row_ = 0;                       // the row of the vector that is appended
  std::unique_ptr<ColumnSource> source_;  // null if no column comes from the input
  std::optional<PassageReader> passages_;
  PassagePlace passage_;  // of the vector that is appended, if there are passages
  std::vector<std::optional<std::string>> values_;
  AtomicFile file_;
  Xxh3 hash_;
  std::unique_ptr<TableWriter> writer_;
  TableRows group_;
  int64_t group_bytes_ = 0;
  int64_t rows_written_ = 0;
};

TableFile::TableFile(const std::string& path, const Manifest& manifest, const FinalColumns& columns)
    : sources_(manifest.table_columns),
      schema_(schema_of(path, manifest)),
      rows_(manifest.vectors()),
      row_bytes_(manifest.columns * item_facts(manifest.type).bytes),
      columns_(columns),
      stream_row_(columns.rows.range().begin),
      file_(path, 0),
      writer_(open_table_writer(*this, schema_)) {
  const bool from_input = std::any_of(
      manifest.table_columns.begin(), manifest.table_columns.end(), [](const TableColumn& column) {
        return column.source == kSourceRowSource || !is_number_column(column);
      });
  if (from_input) source_ = columns.open();
  if (!columns.passages.empty()) passages_.emplace(columns.passages);
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
  if (passages_) passage_ = passages_->next();
  row_ = passages_ ? passage_.row : columns_.rows.row_of(rows_written_);
  if (columns_.of_vectors) {
    read_row();
  } else {
    while (stream_row_ <= row_) read_row();
  }
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
      append_number(sources_[i], column);
      continue;
    }
    const std::optional<std::string_view> text = shown(sources_[i], *value++);
    if (text) column.bytes += *text;
    column.offsets.push_back(static_cast<int32_t>(column.bytes.size()));
    column.present.push_back(text ? 1 : 0);
    group_bytes_ += static_cast<int64_t>(sizeof(int32_t)) + (text ? std::ssize(*text) : 0);
  }
}

void TableFile::append_number(const TableColumn& column, TableRows::Column& values) {
  const std::array<int64_t, kPlaceColumns.size()> place = {passage_.row,        passage_.passage,
                                                           passage_.byte_begin, passage_.byte_end,
                                                           passage_.char_begin, passage_.char_end};
  const auto* const name = std::find(kPlaceColumns.begin(), kPlaceColumns.end(), column.name);
  const bool is_place = is_place_column(column) && name != kPlaceColumns.end();
  if (column.source == kSourceRowSource) {
    values.numbers.push_back(source_->source_row());
  } else {
    values.numbers.push_back(is_place ? place.at(static_cast<size_t>(name - kPlaceColumns.begin()))
                                      : row_);
  }
  group_bytes_ += static_cast<int64_t>(sizeof(int64_t));
}

// Returns the part of a value that belongs to the vector: of a text the passage, of other columns
// all.
std::optional<std::string_view> TableFile::shown(const TableColumn& column,
                                                 const std::optional<std::string>& value) const {
  if (!value || !passages_ || columns_.of_vectors || column.source != kTextColumn) return value;
  const auto begin = std::min(value->size(), static_cast<size_t>(passage_.byte_begin));
  return std::string_view(*value).substr(
      begin, static_cast<size_t>(passage_.byte_end - passage_.byte_begin));
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
  // The last rows may be dropped ones.
  while (!columns_.of_vectors && stream_row_ < columns_.rows.range().end) read_row();
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
