// A ColumnReader over a source of Arrow arrays. The sources of Parquet and of Arrow IPC differ only
// in how they find the arrays.
#pragma once

#include <arrow/type_fwd.h>
#include <cstdint>
#include <memory>

#include "columnar/arrow/column_values.h"
#include "columnar/arrow/opened_file.h"
#include "columnar/columnar.h"

namespace encode {

// Has the thread rule and the failures of ColumnReader.
class ArraySource {
 public:
  virtual ~ArraySource() = default;
  // Returns the next rows of the column, or null at the end.
  virtual std::shared_ptr<arrow::Array> next() = 0;
  // Goes to a place from which `row` can be reached by next(). Returns the number of the row that
  // next() then begins with; it is not above `row`.
  virtual int64_t seek(int64_t row) = 0;
  virtual const arrow::Schema& schema() const = 0;  // of all columns of the file
  // Returns the number of rows that the file states. Throws Error "arrow.damaged" for an Arrow IPC
  // stream, which states none.
  virtual int64_t rows() = 0;
};

// `file` must outlive the source. The functions throw what open_column() throws.
std::unique_ptr<ArraySource> open_parquet(OpenedFile& file);
std::unique_ptr<ArraySource> open_ipc(OpenedFile& file);

class ArrayReader final : public ColumnReader {
 public:
  ArrayReader(ByteFile& file, const ColumnRequest& request)
      : file_(file, request),
        values_(file_),
        source_(request.parquet ? open_parquet(file_) : open_ipc(file_)) {}

  bool next(ColumnValue& value) override;
  void seek(int64_t row) override;

 private:
  bool load();

  OpenedFile file_;
  ColumnValues values_;
  std::unique_ptr<ArraySource> source_;
  int64_t begin_ = 0;  // the number of the first row of values_
  int64_t row_ = 0;    // the row that next() returns, in [begin_, begin_ + values_.size()]
};

}  // namespace encode
