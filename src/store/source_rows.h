// The file of source rows beside a final matrix of a stream with a filter: an int64 vector that
// has, for each row of the matrix, the number of the record of the input that the row was made
// from.
#pragma once

#include <cstdint>
#include <string>

#include "encode/store.h"
#include "encode/vector_rows.h"

#include "store/numbers_writer.h"

namespace encode {

// A writer that is destroyed before publish() removes its temporary file. Not thread-safe.
class SourceRowsWriter {
 public:
  // Throws what NumbersWriter throws; so do append() and publish().
  SourceRowsWriter(const std::string& path, int64_t rows) : records_(path, rows) {}

  // Appends the record of the next row.
  void append(int64_t record) { records_.append(record); }
  // Appends the rows of the file at `path`. Throws Error kData if its size or checksum differs from
  // `seal`.
  void append_file(const std::string& path, const FileSeal& seal);
  FileSeal publish() { return records_.publish(); }

 private:
  NumbersWriter records_;
};

// Appends the records of all rows that the matrix has, which `columns` reads from the input. Throws
// what ColumnSource throws.
void append_source_rows(ColumnSource& columns, const VectorRows& rows, SourceRowsWriter& writer);

}  // namespace encode
