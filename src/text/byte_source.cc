#include "text/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/system_call.h"
#include "text/compressed_source.h"

namespace encode {
namespace {

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(DiskFile& file) : file_(file) {}
  size_t read(char* data, size_t size) override { return file_.read(data, size); }
  void seek(int64_t offset) override { file_.seek(offset); }

 private:
  DiskFile& file_;
};

}  // namespace

DiskFile::DiskFile(std::string path, bool hashed)
    : path_(std::move(path)),
      fd_(open_for_reading(path_, "text.open")),
      opened_(identity_of(fd_, path_)) {
  if (hashed) hash_.emplace();
}

size_t DiskFile::read(char* data, size_t size) {
  if (offset_ == opened_.bytes) {
    char extra = 0;
    const ssize_t n =
        retried([&] { return ::pread(fd_.get(), &extra, 1, static_cast<off_t>(opened_.bytes)); });
    if (n < 0) throw system_error("io.read", "read", path_, errno);
    if (n == 0) return 0;
    throw changed_file(path_, "the file grew while it was read",
                       fmt::format("{} bytes", opened_.bytes),
                       fmt::format("{} bytes", identity_of(fd_, path_).bytes));
  }
  const auto n =
      static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(size), opened_.bytes - offset_));
  read_of_input(fd_, {data, n}, offset_, path_);
  if (hash_) hash_->update(data, n);
  offset_ += static_cast<int64_t>(n);
  return n;
}

void DiskFile::seek(int64_t offset) { offset_ = std::min(offset, opened_.bytes); }

std::string DiskFile::finish_hash() {
  std::vector<char> block(size_t{256} << 10);
  while (read(block.data(), block.size()) > 0) {
  }
  return hash_->hex();
}

std::unique_ptr<ByteSource> make_byte_source(DiskFile& file, Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return make_gzip_source(file);
    case Compression::kZstd:
      return make_zstd_source(file);
    case Compression::kNone:
      break;
  }
  return std::make_unique<PlainSource>(file);
}

}  // namespace encode
