#include "store/matrix_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "encode/error.h"

#include "store/layout.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;
constexpr uint32_t kInfinityBits = 0x7f800000;  // with the sign taken off, larger ones are NaN

uint32_t magnitude_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffU; }

Error misuse(std::string what, const std::string& where, std::string expected, std::string found) {
  return Error({.exit_code = ExitCode::kInternal,
                .code = "store.misuse",
                .what = std::move(what),
                .where = where,
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = ""});
}

int64_t whole_file_bytes(RowRange rows, int64_t dim) {
  return NpyHeader{.descr = std::string(kElementType),
                   .rows = rows.size(),
                   .cols = dim,
                   .data_offset = kNpyHeaderBytes}
      .file_bytes();
}

}  // namespace

std::optional<size_t> find_non_finite(std::span<const float> values) {
  // A running maximum over a fixed number of lanes is a loop that compilers turn into vector
  // instructions.
  constexpr size_t kLanes = 16;
  std::array<uint32_t, kLanes> largest = {};
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      largest[lane] = std::max(largest[lane], magnitude_bits(values[i + lane]));
    }
  }
  uint32_t maximum = *std::max_element(largest.begin(), largest.end());
  for (size_t i = whole; i < values.size(); ++i)
    maximum = std::max(maximum, magnitude_bits(values[i]));
  if (maximum < kInfinityBits) return std::nullopt;
  const auto found = std::find_if(values.begin(), values.end(), [](float value) {
    return magnitude_bits(value) >= kInfinityBits;
  });
  return static_cast<size_t>(found - values.begin());
}

NpyWriter::NpyWriter(const std::string& path, RowRange rows, int64_t dim)
    : rows_(rows), dim_(dim), file_(path, whole_file_bytes(rows, dim)) {
  const std::string header = make_npy_header(rows.size(), dim, kElementType);
  hash_.update(header.data(), header.size());
  file_.write(header.data(), header.size());
}

void NpyWriter::append(std::span<const float> values) {
  const auto dim = static_cast<size_t>(dim_);
  const auto count = static_cast<int64_t>(values.size() / dim);
  if (values.size() % dim != 0 || count > rows_.size() - rows_written_) {
    throw misuse("append of values that do not fit the matrix", file_.path(),
                 "whole rows of " + std::to_string(dim_) + ", at most " +
                     std::to_string(rows_.size() - rows_written_),
                 std::to_string(values.size()) + " values");
  }
  if (const auto bad = find_non_finite(values)) {
    throw Error({.exit_code = ExitCode::kData,
                 .code = "store.nonfinite",
                 .what = "the vector of a row is not finite",
                 .where = "row " + std::to_string(rows_.begin + rows_written_ +
                                                  static_cast<int64_t>(*bad / dim)),
                 .expected = "finite numbers",
                 .found = std::to_string(values[*bad]) + " in column " + std::to_string(*bad % dim),
                 .hint = "nothing of this chunk was stored; float16 overflows where bfloat16 and "
                         "float32 do not"});
  }
  hash_.update(values.data(), values.size_bytes());
  file_.write(values.data(), values.size_bytes());
  rows_written_ += count;
}

void NpyWriter::publish() {
  if (rows_written_ != rows_.size()) {
    throw misuse("publish of an unfinished matrix", file_.path(),
                 std::to_string(rows_.size()) + " rows", std::to_string(rows_written_) + " rows");
  }
  file_.commit();
}

NpyReader::NpyReader(std::string path)
    : path_(std::move(path)),
      fd_(open_for_reading(path_, "npy.open")),
      header_(read_npy_header(fd_, path_)) {
  if (header_.descr != kElementType || header_.cols == 0) {
    throw Error(
        {.exit_code = ExitCode::kData,
         .code = "npy.matrix",
         .what = "not a float32 matrix",
         .where = path_,
         .expected = "'<f4' with at least one column",
         .found = "'" + header_.descr + "' with " + std::to_string(header_.cols) + " columns",
         .hint = ""});
  }
  header_bytes_.resize(static_cast<size_t>(header_.data_offset));
  pread_all(fd_, header_bytes_.data(), header_bytes_.size(), 0, path_);
  hash_.update(header_bytes_.data(), header_bytes_.size());
}

int64_t NpyReader::block_rows() const {
  return std::max<int64_t>(1, kBlockBytes / (header_.cols * 4));
}

std::span<const float> NpyReader::next(int64_t max_rows) {
  const int64_t count = std::min(max_rows, header_.rows - row_);
  buffer_.resize(static_cast<size_t>(count * header_.cols));
  const size_t bytes = buffer_.size() * sizeof(float);
  pread_all(fd_, buffer_.data(), bytes, header_.data_offset + row_ * header_.cols * 4, path_);
  hash(buffer_.data(), bytes);
  row_ += count;
  return buffer_;
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
