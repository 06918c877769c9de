// The column of a Parquet file, as arrays of a few MiB.
#include <algorithm>
#include <array>
#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <cstring>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <vector>

#include "base/units.h"
#include "columnar/arrow/array_reader.h"

namespace encode {
namespace {

constexpr int64_t kArrayBytes = int64_t{4} << 20;  // about the size of an array
constexpr int64_t kMostArrayRows = 4096;
// The footer is parsed into memory as a whole. Arrow limits the sizes of its parts.
constexpr uint32_t kMostFooterBytes = uint32_t{256} << 20;

// Appends the leaf columns below a field of the schema. Strings and flat lists have one.
void append_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) append_leaves(child, leaves);
}

class ParquetSource final : public ArraySource {
 public:
  explicit ParquetSource(OpenedFile& file);

  std::shared_ptr<arrow::Array> next() override;
  int64_t seek(int64_t row) override;
  const arrow::Schema& schema() const override { return *schema_; }
  int64_t rows() override { return starts_.back(); }

 private:
  void check_footer_size() const;
  void count_rows();
  void open_group();
  arrow::Status read_batch(std::shared_ptr<arrow::RecordBatch>& batch);
  int64_t rows_of_array() const;
  bool shrink();

  OpenedFile& file_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> leaves_;
  std::vector<int64_t> starts_;  // the first row of each row group, and the number of rows
  size_t group_ = 0;             // the row group that `batches_` reads
  int64_t row_ = 0;              // the row that next() begins with
  int64_t array_rows_ = 0;       // the most rows of an array
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // null before a row group is begun
};

ParquetSource::ParquetSource(OpenedFile& file) : file_(file) {
  check_footer_size();
  file_.guarded([&] {
    parquet::ReaderProperties properties(file_.pool());
    // Without buffered streams a reader holds a whole column of a row group.
    properties.enable_buffered_stream();
    properties.set_buffer_size(int64_t{1} << 20);
    properties.set_page_checksum_verification(true);
    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(file_.file(), properties));
    parquet::ArrowReaderProperties conversion(/*use_threads=*/false);
    conversion.set_pre_buffer(false);
    builder.memory_pool(file_.pool())->properties(conversion);
    return builder.Build(&reader_);
  });
  file_.guarded([&] { return reader_->GetSchema(&schema_); });
  const int column = column_index(*schema_, file_.request());
  append_leaves(reader_->manifest().schema_fields.at(static_cast<size_t>(column)), leaves_);
  count_rows();
}

void ParquetSource::check_footer_size() const {
  constexpr int64_t kTailBytes = 8;  // the size of the footer, and "PAR1"
  std::array<uint8_t, kTailBytes> tail = {};
  file_.guarded([&] {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file_.file()->GetSize());
    if (size < kTailBytes) return arrow::Status::Invalid("the file is too small");
    return file_.file()->ReadAt(size - kTailBytes, kTailBytes, tail.data()).status();
  });
  uint32_t footer_bytes = 0;
  std::memcpy(&footer_bytes, tail.data(), sizeof footer_bytes);
  if (footer_bytes > kMostFooterBytes)
    file_.refuse_damage(fmt::format("a footer of {}", format_bytes(footer_bytes)));
}

void ParquetSource::count_rows() {
  file_.guarded([&] {
    const auto metadata = reader_->parquet_reader()->metadata();
    starts_ = {0};
    for (int i = 0; i < metadata->num_row_groups(); ++i) {
      const int64_t rows = metadata->RowGroup(i)->num_rows();
      int64_t sum = 0;
      if (rows < 0 || __builtin_add_overflow(starts_.back(), rows, &sum))
        return arrow::Status::Invalid("a row group of ", rows, " rows");
      starts_.push_back(sum);
    }
    return arrow::Status::OK();
  });
}

// Returns how many rows of the current row group make up about kArrayBytes. Values that a
// dictionary holds once are larger in an array than the metadata says, so this is only a guess.
int64_t ParquetSource::rows_of_array() const {
  const auto group = reader_->parquet_reader()->metadata()->RowGroup(static_cast<int>(group_));
  int64_t bytes = 0;
  for (const int leaf : leaves_)
    bytes += std::max<int64_t>(0, group->ColumnChunk(leaf)->total_uncompressed_size());
  const int64_t row_bytes = bytes / std::max<int64_t>(1, group->num_rows());
  return std::clamp<int64_t>(kArrayBytes / std::max<int64_t>(1, row_bytes), 1, kMostArrayRows);
}

void ParquetSource::open_group() {
  batches_.reset();
  file_.guarded([&] {
    if (array_rows_ == 0) array_rows_ = rows_of_array();
    reader_->set_batch_size(array_rows_);
    ARROW_ASSIGN_OR_RAISE(batches_,
                          reader_->GetRecordBatchReader({static_cast<int>(group_)}, leaves_));
    return arrow::Status::OK();
  });
}

// Makes the arrays smaller, and begins the row group again. Returns false if they cannot be
// smaller.
bool ParquetSource::shrink() {
  constexpr int64_t kFactor = 64;
  if (array_rows_ <= 1) return false;
  array_rows_ = std::max<int64_t>(1, array_rows_ / kFactor);
  const int64_t wanted = row_;
  row_ = starts_[group_];
  open_group();
  while (row_ < wanted) {
    std::shared_ptr<arrow::RecordBatch> batch;
    file_.guarded([&] { return batches_->ReadNext(&batch); });
    if (batch == nullptr) file_.refuse_damage("fewer rows than its metadata states");
    row_ += batch->num_rows();
  }
  return row_ == wanted;
}

arrow::Status ParquetSource::read_batch(std::shared_ptr<arrow::RecordBatch>& batch) {
  arrow::Status status = batches_->ReadNext(&batch);
  while (status.IsOutOfMemory() && shrink()) status = batches_->ReadNext(&batch);
  return status;
}

std::shared_ptr<arrow::Array> ParquetSource::next() {
  while (group_ + 1 < starts_.size()) {
    if (batches_ == nullptr) open_group();
    std::shared_ptr<arrow::RecordBatch> batch;
    file_.guarded([&] { return read_batch(batch); });
    if (batch != nullptr && batch->num_rows() > 0) {
      row_ += batch->num_rows();
      if (row_ > starts_[group_ + 1])
        file_.refuse_damage("a row group with more rows than its metadata states");
      if (batch->num_columns() != 1 || batch->column(0)->length() != batch->num_rows())
        file_.refuse_damage("a row group of another shape than its metadata states");
      return batch->column(0);
    }
    if (batch != nullptr) continue;
    if (row_ != starts_[group_ + 1])
      file_.refuse_damage("a row group with fewer rows than its metadata states");
    batches_.reset();
    array_rows_ = 0;
    ++group_;
  }
  return nullptr;
}

int64_t ParquetSource::seek(int64_t row) {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), row);
  const auto group = static_cast<size_t>(after - starts_.begin()) - 1;
  const bool ahead = batches_ != nullptr && group == group_ && row_ <= row;
  if (ahead) return row_;
  batches_.reset();
  array_rows_ = 0;
  group_ = std::min(group, starts_.size() - 1);
  row_ = starts_[group_];
  return row_;
}

}  // namespace

std::unique_ptr<ArraySource> open_parquet(OpenedFile& file) {
  return std::make_unique<ParquetSource>(file);
}

}  // namespace encode
