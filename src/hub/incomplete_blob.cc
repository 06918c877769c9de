#include "hub/incomplete_blob.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/hash.h"
#include "base/system_call.h"
#include "hub/cache_code.h"

namespace encode::hub {
namespace {}  // namespace

IncompleteBlob::IncompleteBlob(std::string path) : path_(std::move(path)) {
  fd_ = UniqueFd(retried([this] {
    return ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  }));
  if (!fd_) throw system_error(kCacheCode, "open a file of the cache", path_, errno);
  bytes_ = file_size(fd_, path_);
}

void IncompleteBlob::append(std::string_view data) {
  write_all(fd_, data.data(), data.size(), path_);
  bytes_ += static_cast<int64_t>(data.size());
}

void IncompleteBlob::restart() {
  if (retried([this] { return ::ftruncate(fd_.get(), 0); }) != 0)
    throw system_error(kCacheCode, "empty a file of the cache", path_, errno);
  bytes_ = 0;
}

void IncompleteBlob::sync() {
  if (retried([this] { return ::fsync(fd_.get()); }) != 0)
    throw system_error(kCacheCode, "sync a file of the cache", path_, errno);
}

std::string IncompleteBlob::hash(std::string_view etag) const {
  constexpr size_t kSha256Digits = 64;
  return etag.size() == kSha256Digits ? sha256_of(fd_, path_) : git_blob_sha1_of(fd_, path_);
}

void IncompleteBlob::remove() { remove_file(path_); }

}  // namespace encode::hub
