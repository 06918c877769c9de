#include "columnar/arrow/array_reader.h"

#include <arrow/array.h>
#include <utility>

namespace encode {

// Replaces the rows of values_ by the rows that follow them.
bool ArrayReader::load() {
  begin_ += values_.size();
  std::shared_ptr<arrow::Array> array = source_->next();
  if (array == nullptr) {
    values_.clear();
    return false;
  }
  values_.set(std::move(array));
  return true;
}

bool ArrayReader::next(ColumnValue& value) {
  while (row_ >= begin_ + values_.size()) {
    if (!load()) return false;
  }
  values_.get(row_++ - begin_, value);
  return true;
}

void ArrayReader::seek(int64_t row) {
  if (row < begin_ || row > begin_ + values_.size()) {
    values_.clear();
    begin_ = source_->seek(row);
  }
  row_ = row;
}

}  // namespace encode
