#include "base/npy_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

namespace encode {

NpyReader::NpyReader(std::string path, Elements elements)
    : path_(std::move(path)),
      fd_(open_for_reading(path_, "npy.open")),
      header_(read_npy_header(fd_, path_)) {
  const bool right_type = elements == Elements::kAny || header_.item == ItemType::kFloat32;
  if (!right_type || header_.cols == 0) {
    throw Error(
        {.code = "npy.matrix",
         .what = right_type ? "a matrix without columns" : "not a float32 matrix",
         .where = path_,
         .expected = right_type ? "at least one column" : "float32 with at least one column",
         .found = fmt::format("{} with {} columns", header_.item_word(), header_.cols),
         .hint = "give a float32 matrix that encode or NumPy wrote"});
  }
  header_bytes_.resize(static_cast<size_t>(header_.data_offset));
  pread_all(fd_, header_bytes_, 0, path_);
  hash_.update(header_bytes_.data(), header_bytes_.size());
}

int64_t NpyReader::block_rows() const {
  return std::max<int64_t>(1, kFileBlockBytes / row_bytes());
}

std::span<const float> NpyReader::next(int64_t max_rows) {
  const size_t bytes = next_bytes(max_rows).size();
  return {buffer_.data(), bytes / sizeof(float)};
}

std::span<const std::byte> NpyReader::next_bytes(int64_t max_rows) {
  const int64_t count = std::min(max_rows, header_.rows - row_);
  const auto bytes = static_cast<size_t>(count * row_bytes());
  buffer_.resize((bytes + sizeof(float) - 1) / sizeof(float));
  pread_all(fd_, {reinterpret_cast<char*>(buffer_.data()), bytes},
            header_.data_offset + row_ * row_bytes(), path_);
  hash(buffer_.data(), bytes);
  row_ += count;
  return std::as_bytes(std::span(buffer_)).first(bytes);
}

void NpyReader::also_hash(Sha256& sha256) {
  sha256_ = &sha256;
  sha256_->update(header_bytes_.data(), header_bytes_.size());
}

void NpyReader::hash(const void* data, size_t size) {
  hash_.update(data, size);
  if (sha256_ != nullptr) sha256_->update(data, size);
}

}  // namespace encode
