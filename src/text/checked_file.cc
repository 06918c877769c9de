#include "text/checked_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>

#include "base/hash.h"

namespace encode {
namespace {

constexpr const char* kFileChanged = "the file changed while it was read";

}  // namespace

CheckedFile::CheckedFile(std::string path, bool hashed)
    : path_(std::move(path)),
      fd_(open_for_reading(path_, "text.open")),
      opened_(identity_of(fd_, path_)) {
  if (hashed) hash_all();
}

void CheckedFile::hash_all() {
  Sha256 whole;
  const int64_t blocks = (size() + kBlockBytes - 1) / kBlockBytes;
  hashes_.resize(static_cast<size_t>(blocks));
  for (int64_t i = 0; i < blocks; ++i) {
    block_.resize(static_cast<size_t>(std::min(kBlockBytes, size() - i * kBlockBytes)));
    read_of_input(fd_, block_, i * kBlockBytes, path_);
    whole.update(block_.data(), block_.size());
    hashes_[static_cast<size_t>(i)] = xxh3_bytes(std::as_bytes(std::span(block_)));
    block_index_ = i;
  }
  sha256_ = whole.hex();
}

void CheckedFile::load_block(int64_t index) {
  if (index == block_index_) return;
  block_index_ = -1;
  block_.resize(static_cast<size_t>(std::min(kBlockBytes, size() - index * kBlockBytes)));
  read_of_input(fd_, block_, index * kBlockBytes, path_);
  if (xxh3_bytes(std::as_bytes(std::span(block_))) != hashes_[static_cast<size_t>(index)])
    throw changed_file(path_, kFileChanged, "the bytes that were hashed when the file was opened",
                       "other bytes");
  block_index_ = index;
}

void CheckedFile::read(int64_t offset, std::span<char> to) {
  if (hashes_.empty()) {
    read_of_input(fd_, to, offset, path_);
    return;
  }
  while (!to.empty()) {
    load_block(offset / kBlockBytes);
    const auto begin = static_cast<size_t>(offset % kBlockBytes);
    const size_t size = std::min(to.size(), block_.size() - begin);
    std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(begin), size, to.begin());
    to = to.subspan(size);
    offset += static_cast<int64_t>(size);
  }
}

void CheckedFile::check_size() const {
  const int64_t now = file_size(fd_, path_);
  if (now != size())
    throw changed_file(path_, kFileChanged, fmt::format("{} bytes", size()),
                       fmt::format("{} bytes", now));
}

}  // namespace encode
