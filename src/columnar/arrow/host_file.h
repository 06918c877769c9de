// A ByteFile as Arrow reads it.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <cstdint>
#include <exception>
#include <memory>

#include "columnar/columnar.h"

namespace encode {

// The memory that Arrow may take for one file. The blocks come from malloc and go back to it,
// because Arrow's own pool keeps them.
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
  // Both must outlive the file.
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
  // The same two functions of the base class read on threads of Arrow, which may hold their buffers
  // longer than the reader of the file lives.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context,
                                                          int64_t position,
                                                          int64_t nbytes) override;
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context,
                                                          int64_t position, int64_t nbytes,
                                                          bool allow_short_read) override;

  // True if a Read() has asked for bytes after the end of the file.
  bool read_past_end() const { return read_past_end_; }
  // The Error of ByteFile::read() that a function above has turned into a Status; or null.
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
