#include "columnar/arrow/table_writer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <exception>
#include <functional>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>
#include <utility>

#include "encode/error.h"
#include "encode/types.h"

#include "base/units.h"
#include "columnar/arrow/host_file.h"
#include "columnar/arrow/vector_type.h"

namespace encode {
namespace {

// A ByteSink as Arrow writes to it. Not thread-safe.
class SinkStream final : public arrow::io::OutputStream {
 public:
  explicit SinkStream(ByteSink& sink) : sink_(sink) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  using OutputStream::Write;
  arrow::Status Write(const void* data, int64_t nbytes) override {
    try {
      sink_.write({static_cast<const char*>(data), static_cast<size_t>(nbytes)});
    } catch (...) {
      failure_ = std::current_exception();
      return arrow::Status::IOError("the file cannot be written");
    }
    position_ += nbytes;
    return arrow::Status::OK();
  }

  // Returns the Error of the sink behind a failed Status of Write(); null if there was none.
  const std::exception_ptr& failure() const { return failure_; }

 private:
  ByteSink& sink_;
  int64_t position_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

std::shared_ptr<arrow::Schema> arrow_schema(const TableSchema& schema) {
  arrow::FieldVector fields;
  for (const TableSchema::Column& column : schema.columns) {
    fields.push_back(column.numbers ? arrow::field(column.name, arrow::int64(), /*nullable=*/false)
                                    : arrow::field(column.name, arrow::utf8()));
  }
  fields.push_back(arrow::field(kEmbeddingColumn, vector_type(schema.item, schema.items),
                                /*nullable=*/false));
  const auto metadata = std::make_shared<arrow::KeyValueMetadata>();
  for (const auto& [key, value] : schema.metadata) metadata->Append(key, value);
  return arrow::schema(std::move(fields), metadata);
}

template <typename T>
std::shared_ptr<arrow::Buffer> borrow(const T& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(bytes.data()),
                                         std::ssize(bytes));
}

std::shared_ptr<arrow::Array> text_array(const TableRows::Column& column) {
  const auto rows = std::ssize(column.present);
  std::string bits(static_cast<size_t>((rows + 7) / 8), '\0');
  int64_t nulls = 0;
  for (size_t i = 0; i < column.present.size(); ++i) {
    if (column.present[i] != 0) {
      bits[i / 8] = static_cast<char>(static_cast<unsigned char>(bits[i / 8]) | 1U << i % 8);
    } else {
      ++nulls;
    }
  }
  std::shared_ptr<arrow::Buffer> present;
  if (nulls > 0) present = arrow::Buffer::FromString(std::move(bits));
  return std::make_shared<arrow::StringArray>(rows, borrow(column.offsets), borrow(column.bytes),
                                              std::move(present), nulls);
}

// Returns an Arrow batch that views the rows. They must outlive it.
std::shared_ptr<arrow::RecordBatch> batch_of(const std::shared_ptr<arrow::Schema>& schema,
                                             const TableRows& rows) {
  arrow::ArrayVector arrays;
  for (const TableRows::Column& column : rows.columns) {
    const auto number = static_cast<int>(arrays.size());
    if (schema->field(number)->type()->id() == arrow::Type::INT64) {
      arrays.push_back(std::make_shared<arrow::Int64Array>(rows.rows, borrow(column.numbers)));
    } else {
      arrays.push_back(text_array(column));
    }
  }
  const std::shared_ptr<arrow::DataType> type = schema->fields().back()->type();
  const auto& lists = static_cast<const arrow::FixedSizeListType&>(*type);
  const auto values =
      arrow::MakeArray(arrow::ArrayData::Make(lists.value_type(), rows.rows * lists.list_size(),
                                              {nullptr, borrow(rows.vectors)}, /*null_count=*/0));
  arrays.push_back(std::make_shared<arrow::FixedSizeListArray>(type, rows.rows, values,
                                                               /*null_bitmap=*/nullptr,
                                                               /*null_count=*/0));
  return arrow::RecordBatch::Make(schema, rows.rows, std::move(arrays));
}

class ArrowTableWriter : public TableWriter {
 public:
  ArrowTableWriter(ByteSink& sink, const TableSchema& schema)
      : path_(schema.path),
        schema_(arrow_schema(schema)),
        stream_(std::make_shared<SinkStream>(sink)) {}

  void write(const TableRows& rows) override {
    guarded([&] {
      const std::shared_ptr<arrow::RecordBatch> batch = batch_of(schema_, rows);
      ARROW_RETURN_NOT_OK(batch->Validate());
      return write_batch(batch);
    });
  }
  void finish() override {
    guarded([&] { return close(); });
  }

 protected:
  virtual arrow::Status write_batch(const std::shared_ptr<arrow::RecordBatch>& batch) = 0;
  virtual arrow::Status close() = 0;
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const std::shared_ptr<SinkStream>& stream() const { return stream_; }
  arrow::MemoryPool* pool() { return memory_.pool(); }

  // Calls `work`, which uses Arrow. Turns its exceptions, and a Status that is not OK, into an
  // Error.
  void guarded(const std::function<arrow::Status()>& work) const {
    std::string problem;
    try {
      const arrow::Status status = work();
      if (status.ok()) return;
      problem = status.ToString();
    } catch (const std::exception& error) {  // Parquet's own exceptions
      problem = error.what();
    }
    if (stream_->failure()) std::rethrow_exception(stream_->failure());
    throw Error({.code = "arrow.write",
                 .what = "Arrow cannot write the table",
                 .where = path_,
                 .expected = "a table of vectors, numbers and texts",
                 .found = preview(problem, 300),
                 .hint =
                     "this is a defect of encode; please report it. A .npy output does not need "
                     "Arrow"});
  }

 private:
  std::string path_;
  FileMemory memory_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<SinkStream> stream_;
};

class ParquetTableWriter final : public ArrowTableWriter {
 public:
  ParquetTableWriter(ByteSink& sink, const TableSchema& table) : ArrowTableWriter(sink, table) {
    parquet::WriterProperties::Builder properties;
    properties.memory_pool(pool())
        ->compression(parquet::Compression::ZSTD)
        ->enable_page_checksum()
        // No dictionary and no statistics: the numbers of vectors hardly repeat, and nobody filters
        // by their range.
        ->disable_dictionary(vector_path())
        ->disable_statistics(vector_path());
    for (const TableSchema::Column& column : table.columns) {
      if (column.numbers) properties.disable_dictionary(column.name);
    }
    guarded([&] {
      ARROW_ASSIGN_OR_RAISE(writer_,
                            parquet::arrow::FileWriter::Open(
                                *schema(), pool(), stream(), properties.build(),
                                parquet::ArrowWriterProperties::Builder().store_schema()->build()));
      return arrow::Status::OK();
    });
  }

 private:
  static std::string vector_path() { return std::string(kEmbeddingColumn) + ".list.element"; }

  arrow::Status write_batch(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches({batch}));
    return writer_->WriteTable(*table, batch->num_rows());
  }
  arrow::Status close() override { return writer_->Close(); }

  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

class IpcTableWriter final : public ArrowTableWriter {
 public:
  IpcTableWriter(ByteSink& sink, const TableSchema& table) : ArrowTableWriter(sink, table) {
    guarded([&] {
      auto options = arrow::ipc::IpcWriteOptions::Defaults();
      options.memory_pool = pool();
      options.use_threads = false;
      ARROW_ASSIGN_OR_RAISE(options.codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
      ARROW_ASSIGN_OR_RAISE(writer_, arrow::ipc::MakeFileWriter(stream(), schema(), options));
      return arrow::Status::OK();
    });
  }

 private:
  arrow::Status write_batch(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    return writer_->WriteRecordBatch(*batch);
  }
  arrow::Status close() override { return writer_->Close(); }

  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

std::unique_ptr<TableWriter> make_table_writer(ByteSink& sink, const TableSchema& schema) {
  if (schema.parquet) return std::make_unique<ParquetTableWriter>(sink, schema);
  return std::make_unique<IpcTableWriter>(sink, schema);
}

}  // namespace encode
