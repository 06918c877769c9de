// The values of one column of Arrow arrays.
#pragma once

#include <arrow/type_fwd.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "columnar/arrow/opened_file.h"
#include "columnar/columnar.h"

namespace encode {

// Returns the index of the column that the request names among the fields of the schema. Throws
// Error kConfig "arrow.column" if there is not exactly one, and "arrow.type" unless it holds what
// the request allows:
// - kRows: strings (string, large_string, string_view, or a dictionary of these), or lists of
//   integers (list, large_list, or fixed_size_list of at least one);
// - kAny: strings, and numbers, booleans, dates, times and decimals.
// For kVectors it throws Error kData "arrow.vectors" instead of these two errors.
int column_index(const arrow::Schema& schema, const ColumnRequest& request);

// The array that is being read. Not thread-safe.
class ColumnValues {
 public:
  // `file` must outlive the object.
  explicit ColumnValues(const OpenedFile& file) : file_(file) {}

  // Checks the array completely, because its file is not trusted: sizes, offsets and indices are
  // inside their buffers. UTF-8 is not checked. Throws Error "arrow.damaged".
  void set(std::shared_ptr<arrow::Array> array);
  void clear() { size_ = 0; }
  int64_t size() const { return size_; }
  // `row` is in [0, size()). The views are valid until the next call of a function.
  void get(int64_t row, ColumnValue& value);

 private:
  void check(const arrow::Array& array) const;
  void check_texts(const std::shared_ptr<arrow::Array>& texts);
  void get_text(const arrow::Array& texts, int64_t row, ColumnValue& value) const;
  void get_ids(int64_t row, ColumnValue& value);
  void get_scalar(int64_t row, ColumnValue& value);

  const OpenedFile& file_;
  std::shared_ptr<arrow::Array> array_;
  std::shared_ptr<arrow::Array> dictionary_;              // the dictionary of array_, or null
  std::shared_ptr<arrow::ArrayData> checked_dictionary_;  // the last dictionary that was checked
  int64_t size_ = 0;
  std::vector<int32_t> ids_;
  std::string scalar_;  // the text of a value that is no string
};

}  // namespace encode
