#include "store/source_rows.h"

#include <fmt/format.h>
#include <optional>
#include <vector>

#include "store/audit.h"
#include "store/sealed_file.h"

namespace encode {

void SourceRowsWriter::append_file(const std::string& path, const FileSeal& seal) {
  read_sealed_numbers(path, seal, [this](int64_t record) { append(record); });
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
