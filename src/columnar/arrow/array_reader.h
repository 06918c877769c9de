// A ColumnReader over a source of Arrow arrays. The sources of the columnar formats differ only in
// how they find the arrays. A columnar format without a source does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <arrow/type_fwd.h>
#include <cstdint>
#include <memory>

#include "base/input_format.h"
#include "columnar/arrow/column_values.h"
#include "columnar/arrow/opened_file.h"
#include "columnar/columnar.h"

namespace encode {

// Where the arrays come from. Has the thread rule and the failures of ColumnReader.
class ArraySource {
 public:
  virtual ~ArraySource() = default;
  // Returns the next rows of the column, or null at the end.
  virtual std::shared_ptr<arrow::Array> next() = 0;
  // Moves to a row at or before `row`, and returns its number. next() continues there.
  virtual int64_t seek(int64_t row) = 0;
  virtual const arrow::Schema& schema() const = 0;  // the schema of all columns of the file
  // Returns the number of rows that the file states. Throws Error "arrow.damaged" for an Arrow IPC
  // stream, which states none.
  virtual int64_t rows() = 0;
};

// `file` must outlive the source. The functions throw what open_column() throws.
using OpenSource = std::unique_ptr<ArraySource>(OpenedFile& file);
OpenSource open_parquet;
OpenSource open_ipc;

struct FormatSource {
  TextFormat format;
  OpenSource* open;
};
inline constexpr auto kSources = std::to_array<FormatSource>(
    {{TextFormat::kParquet, open_parquet}, {TextFormat::kArrow, open_ipc}});

// Returns nullptr for a format that is not columnar.
constexpr OpenSource* source_of(TextFormat format) {
  const auto* const found =
      std::find_if(kSources.begin(), kSources.end(),
                   [format](const FormatSource& source) { return source.format == format; });
  return found == kSources.end() ? nullptr : found->open;
}
static_assert(std::all_of(kTextFormats.begin(), kTextFormats.end(), [](const auto& entry) {
  return !is_columnar(entry.second) || source_of(entry.second) != nullptr;
}));

// Opens the file in the format that its request states.
inline std::unique_ptr<ArraySource> open_source(OpenedFile& file) {
  return source_of(file.request().format)(file);
}

class ArrayReader final : public ColumnReader {
 public:
  ArrayReader(ByteFile& file, const ColumnRequest& request)
      : file_(file, request), values_(file_), source_(open_source(file_)) {}

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
