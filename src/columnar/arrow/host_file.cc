#include "columnar/arrow/host_file.h"

#include <algorithm>
#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/future.h>
#include <utility>

namespace encode {

arrow::Status HostFile::Seek(int64_t position) {
  if (position < 0) return arrow::Status::IOError("a place before the file");
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> HostFile::ReadAt(int64_t position, int64_t nbytes, void* out) {
  if (position < 0 || nbytes < 0) return arrow::Status::IOError("a place before the file");
  const int64_t count = std::clamp<int64_t>(file_.size() - position, 0, nbytes);
  if (count == 0) return 0;
  try {
    file_.read(position, {static_cast<char*>(out), static_cast<size_t>(count)});
  } catch (...) {
    failure_ = std::current_exception();
    return arrow::Status::IOError("the file cannot be read");
  }
  return count;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> HostFile::ReadAt(int64_t position, int64_t nbytes) {
  if (position < 0 || nbytes < 0) return arrow::Status::IOError("a place before the file");
  const int64_t count = std::clamp<int64_t>(file_.size() - position, 0, nbytes);
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(count, pool_));
  ARROW_RETURN_NOT_OK(ReadAt(position, count, buffer->mutable_data()).status());
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

arrow::Result<int64_t> HostFile::Read(int64_t nbytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t count, ReadAt(position_, nbytes, out));
  read_past_end_ = read_past_end_ || count < nbytes;
  position_ += count;
  return count;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> HostFile::Read(int64_t nbytes) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, nbytes));
  read_past_end_ = read_past_end_ || buffer->size() < nbytes;
  position_ += buffer->size();
  return buffer;
}

arrow::Future<std::shared_ptr<arrow::Buffer>> HostFile::ReadAsync(
    const arrow::io::IOContext& /*context*/, int64_t position, int64_t nbytes) {
  return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, nbytes));
}

arrow::Future<std::shared_ptr<arrow::Buffer>> HostFile::ReadAsync(
    const arrow::io::IOContext& /*context*/, int64_t position, int64_t nbytes,
    bool allow_short_read) {
  return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(
      ReadAt(position, nbytes, allow_short_read));
}

}  // namespace encode
