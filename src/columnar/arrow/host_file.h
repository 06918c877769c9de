// A ByteFile as Arrow reads it.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <cstdint>
#include <exception>
#include <memory>

#include "columnar/columnar.h"

namespace encode {

// Limits the memory that Arrow may take for one file. Uses malloc and free, because Arrow's own
// pool would keep freed blocks.
class FileMemory {
 public:
  arrow::MemoryPool* pool() { return &capped_; }

 private:
  arrow::ProxyMemoryPool counted_{arrow::system_memory_pool()};
  arrow::CappedMemoryPool capped_{&counted_, kColumnarMemoryBytes};
};

// Reads on the thread of the caller. Never takes more memory than the rest of the file has bytes,
// whatever size a damaged file states. Not thread-safe.
class HostFile final : public arrow::io::RandomAccessFile {
 public:
  // Both arguments must outlive the file.
  HostFile(ByteFile& file, arrow::MemoryPool* pool) : file_(file), pool_(pool) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> GetSize() override { return file_.size(); }
  arrow::Result<int64_t> Read(int64_t nbytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t nbytes) override;
  using RandomAccessFile::ReadAsync;
  using RandomAccessFile::ReadAt;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t nbytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t nbytes) override;
  // Overridden, because the functions of the base class read on threads of Arrow, and these may
  // keep their buffers after the reader of the file is gone.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context,
                                                          int64_t position,
                                                          int64_t nbytes) override;
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context,
                                                          int64_t position, int64_t nbytes,
                                                          bool allow_short_read) override;

  // True if a Read() has asked for bytes after the end of the file.
  bool read_past_end() const { return read_past_end_; }
  // Returns the Error of ByteFile::read() behind a failed Status of the functions above; null if
  // there was none.
  const std::exception_ptr& failure() const { return failure_; }

 private:
  ByteFile& file_;
  arrow::MemoryPool* pool_;
  int64_t position_ = 0;
  bool closed_ = false;
  bool read_past_end_ = false;
  std::exception_ptr failure_;
};

}  // namespace encode
