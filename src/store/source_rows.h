// The file of source rows beside a final matrix of a stream with a filter: an int64 vector that
// has, for each row of the matrix, the number of the record of the input that the row was made
// from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/store.h"
#include "encode/vector_rows.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

// A writer that is destroyed before publish() removes its temporary file. Not thread-safe.
class SourceRowsWriter {
 public:
  // Throws Error kCantCreate, kNoPermission, kIoError.
  SourceRowsWriter(const std::string& path, int64_t rows);

  // Appends the record of the next row. Throws Error kIoError.
  void append(int64_t record);
  // Appends the rows of the file at `path`. Throws Error kData if its size or checksum differs from
  // `seal`.
  void append_file(const std::string& path, const FileSeal& seal);
  // Publishes the file. When publish() returns, the file survives power loss. Throws Error
  // kInternal unless the file has the number of rows that the constructor got, and kIoError.
  FileSeal publish();

 private:
  void flush();

  int64_t rows_;
  int64_t rows_written_ = 0;
  std::vector<int64_t> buffer_;
  AtomicFile file_;
  Xxh3 hash_;
};

// Appends the records of all rows that the matrix has, which `columns` reads from the input. Throws
// what ColumnSource throws.
void append_source_rows(ColumnSource& columns, const VectorRows& rows, SourceRowsWriter& writer);

}  // namespace encode
