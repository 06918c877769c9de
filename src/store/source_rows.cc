#include "store/source_rows.h"

#include <bit>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "base/npy.h"
#include "store/audit.h"
#include "store/sealed_file.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The numbers are written as they are in memory, and the file has little-endian numbers ("<i8").
static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kSourceRowsDescr = "<i8";
constexpr size_t kBufferedSourceRows = 8192;

int64_t source_rows_bytes(int64_t rows) {
  return kNpyHeaderBytes + rows * static_cast<int64_t>(sizeof(int64_t));
}

}  // namespace

SourceRowsWriter::SourceRowsWriter(const std::string& path, int64_t rows)
    : rows_(rows), file_(path, source_rows_bytes(rows)) {
  const std::string header = make_npy_vector_header(rows, kSourceRowsDescr);
  hash_.update(header.data(), header.size());
  file_.write(header.data(), header.size());
  buffer_.reserve(kBufferedSourceRows);
}

void SourceRowsWriter::append(int64_t record) {
  buffer_.push_back(record);
  ++rows_written_;
  if (buffer_.size() == kBufferedSourceRows) flush();
}

void SourceRowsWriter::append_file(const std::string& path, const FileSeal& seal) {
  read_sealed_numbers(path, seal, [this](int64_t record) { append(record); });
}

FileSeal SourceRowsWriter::publish() {
  flush();
  if (rows_written_ != rows_) {
    throw misuse("the source rows do not fit the matrix", file_.path(),
                 fmt::format("{} rows", rows_), fmt::format("{} rows", rows_written_));
  }
  file_.commit();
  return {.file_bytes = file_.bytes_written(), .xxh3_128 = hash_.hex()};
}

void SourceRowsWriter::flush() {
  const size_t bytes = buffer_.size() * sizeof(int64_t);
  hash_.update(buffer_.data(), bytes);
  file_.write(buffer_.data(), bytes);
  buffer_.clear();
}

void append_source_rows(ColumnSource& columns, const VectorRows& rows, SourceRowsWriter& writer) {
  std::vector<std::optional<std::string>> values;
  for (int64_t row = rows.range().begin; row < rows.range().end; ++row) {
    columns.next(values);
    if (rows.vector_of(row)) writer.append(columns.source_row());
  }
  columns.finish();
}

std::string check_source_rows(const std::string& path, const FileSeal& seal, int64_t rows) {
  if (std::string wrong = check_sealed_file(path, seal); !wrong.empty()) return wrong;
  int64_t count = 0;
  int64_t last = -1;
  bool ascending = true;
  read_sealed_numbers(path, seal, [&](int64_t record) {
    ascending = ascending && record > last;
    last = record;
    ++count;
  });
  if (count != rows) return fmt::format("it has {} numbers for {} rows", count, rows);
  return ascending ? "" : "its numbers do not ascend";
}

}  // namespace encode
