// The column of an Arrow IPC file or stream, as the arrays of its record batches.
#include <array>
#include <arrow/array.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <string_view>
#include <utility>

#include "base/input_format.h"
#include "columnar/arrow/array_reader.h"

namespace encode {
namespace {

constexpr std::string_view kFileMagic = facts_of(TextFormat::kArrow).magic;

// The record batches of one of the two formats, in order.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual const arrow::Schema& schema() const = 0;
  // Returns null at the end.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() = 0;
  virtual arrow::Result<int64_t> count_rows() = 0;
};

class FileBatches final : public Batches {
 public:
  explicit FileBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader)
      : reader_(std::move(reader)), schema_(reader_->schema()) {}
  const arrow::Schema& schema() const override { return *schema_; }
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    if (next_ >= reader_->num_record_batches()) return nullptr;
    return reader_->ReadRecordBatch(next_++);
  }
  arrow::Result<int64_t> count_rows() override { return reader_->CountRows(); }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  int next_ = 0;
};

class StreamBatches final : public Batches {
 public:
  StreamBatches(std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader,
                std::shared_ptr<HostFile> file)
      : reader_(std::move(reader)), schema_(reader_->schema()), file_(std::move(file)) {}
  const arrow::Schema& schema() const override { return *schema_; }
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader_->ReadNext(&batch));
    if (batch == nullptr) ARROW_RETURN_NOT_OK(check_end());
    return batch;
  }
  arrow::Result<int64_t> count_rows() override {
    return arrow::Status::Invalid("an Arrow stream, and no Arrow file");
  }

 private:
  // Arrow takes the end of the file for the end of the stream, also if the stream was cut between
  // two batches. A whole stream ends with a marker, after which Arrow reads nothing.
  arrow::Status check_end() {
    if (file_->read_past_end())
      return arrow::Status::Invalid("the stream ends without its end marker");
    ARROW_ASSIGN_OR_RAISE(const int64_t position, file_->Tell());
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
    if (position != size)
      return arrow::Status::Invalid(size - position, " bytes after the end of the stream");
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<HostFile> file_;
};

class IpcSource final : public ArraySource {
 public:
  explicit IpcSource(OpenedFile& file) : file_(file) {
    open({});
    schema_ = std::make_shared<arrow::Schema>(batches_->schema());
    column_ = column_index(*schema_, file_.request());
    open({column_});
  }

  const arrow::Schema& schema() const override { return *schema_; }
  int64_t rows() override {
    int64_t rows = 0;
    file_.guarded([&] { return batches_->count_rows().Value(&rows); });
    return rows;
  }

  std::shared_ptr<arrow::Array> next() override {
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      file_.guarded([&] { return batches_->next().Value(&batch); });
      if (batch == nullptr) return nullptr;
      if (batch->num_columns() != 1 || batch->column(0)->length() != batch->num_rows())
        file_.refuse_damage("a record batch of another shape than the schema states");
      if (batch->num_rows() == 0) continue;
      row_ += batch->num_rows();
      return batch->column(0);
    }
  }

  int64_t seek(int64_t row) override {
    if (row < row_) open({column_});
    return row_;
  }

 private:
  // Begins again at the first record batch. Reads only the columns `included`, or all columns if
  // `included` is empty.
  void open(std::vector<int> included) {
    batches_.reset();
    row_ = 0;
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = file_.pool();
    options.use_threads = false;
    options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
    options.included_fields = std::move(included);
    file_.guarded([&]() -> arrow::Status {
      const std::shared_ptr<HostFile>& file = file_.file();
      std::array<char, kFileMagic.size()> magic = {};
      ARROW_RETURN_NOT_OK(file->ReadAt(0, std::ssize(magic), magic.data()).status());
      ARROW_RETURN_NOT_OK(file->Seek(0));
      if (std::string_view(magic.data(), magic.size()) == kFileMagic) {
        ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file, options));
        batches_ = std::make_unique<FileBatches>(std::move(reader));
      } else {
        ARROW_ASSIGN_OR_RAISE(auto reader,
                              arrow::ipc::RecordBatchStreamReader::Open(file, options));
        batches_ = std::make_unique<StreamBatches>(std::move(reader), file);
      }
      return arrow::Status::OK();
    });
  }

  OpenedFile& file_;
  std::unique_ptr<Batches> batches_;
  std::shared_ptr<arrow::Schema> schema_;
  int column_ = 0;
  int64_t row_ = 0;  // the row that next() begins with
};

}  // namespace

std::unique_ptr<ArraySource> open_ipc(OpenedFile& file) {
  return std::make_unique<IpcSource>(file);
}

}  // namespace encode
