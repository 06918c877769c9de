#include "read_table.h"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <stdexcept>
#include <utility>

namespace encode::testing {
namespace {

template <typename T>
T taken(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).ValueUnsafe();
}

std::shared_ptr<arrow::Array> column_of(const arrow::Table& table, const std::string& name) {
  const auto column = table.GetColumnByName(name);
  if (column == nullptr) throw std::runtime_error("no column " + name);
  return column->num_chunks() == 0 ? taken(arrow::MakeEmptyArray(column->type()))
                                   : column->chunk(0);
}

std::shared_ptr<arrow::Table> read_parquet(const std::shared_ptr<arrow::io::ReadableFile>& file) {
  const auto reader = taken(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
  return taken(reader->ReadTable());
}

std::shared_ptr<arrow::Table> read_ipc(const std::shared_ptr<arrow::io::ReadableFile>& file) {
  const auto reader = taken(arrow::ipc::RecordBatchFileReader::Open(file));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < reader->num_record_batches(); ++i)
    batches.push_back(taken(reader->ReadRecordBatch(i)));
  return taken(arrow::Table::FromRecordBatches(reader->schema(), batches));
}

}  // namespace

std::shared_ptr<arrow::Table> read_table(const std::string& path) {
  const auto file = taken(arrow::io::ReadableFile::Open(path));
  const bool parquet = path.ends_with(".parquet");
  const auto table = parquet ? read_parquet(file) : read_ipc(file);
  const auto whole = taken(table->CombineChunks());
  if (const arrow::Status status = whole->ValidateFull(); !status.ok())
    throw std::runtime_error(status.ToString());
  return whole;
}

int row_groups(const std::string& parquet_path) {
  return parquet::ParquetFileReader::OpenFile(parquet_path)->metadata()->num_row_groups();
}

std::string vector_bytes(const arrow::Table& table) {
  const auto array = column_of(table, "embedding");
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*array);
  if (lists.null_count() > 0 || lists.offset() > 0) throw std::runtime_error("not whole");
  const auto& values = *lists.values()->data();
  const int64_t size = lists.length() * lists.list_type()->list_size() * values.type->byte_width();
  return size == 0 ? "" : values.buffers[1]->ToString().substr(0, static_cast<size_t>(size));
}

std::vector<int64_t> numbers_of(const arrow::Table& table, const std::string& column) {
  const auto array = column_of(table, column);
  const auto& numbers = static_cast<const arrow::Int64Array&>(*array);
  return {numbers.raw_values(), numbers.raw_values() + numbers.length()};
}

std::vector<std::optional<std::string>> texts_of(const arrow::Table& table,
                                                 const std::string& column) {
  const auto array = column_of(table, column);
  const auto& strings = static_cast<const arrow::StringArray&>(*array);
  std::vector<std::optional<std::string>> texts;
  for (int64_t i = 0; i < strings.length(); ++i) {
    texts.push_back(strings.IsNull(i) ? std::nullopt
                                      : std::optional<std::string>(strings.GetString(i)));
  }
  return texts;
}

}  // namespace encode::testing
