#include "store/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "encode/error.h"

#include "base/half.h"
#include "base/npy_reader.h"
#include "base/units.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr float kBuckets = 255;  // the number of steps that a column's range is divided into
constexpr unsigned kSignBit = 0x80;

constexpr ErrorCode kRangesError = "store.ranges";
constexpr const char* kRangesHint =
    "for float32 embeddings x, numpy.save(FILE, numpy.vstack((x.min(axis=0), x.max(axis=0)))) "
    "writes such a file";

std::string column_text(size_t column, float lowest, float highest) {
  return fmt::format("column {}: {} to {}", column, lowest, highest);
}

void append_bytes(std::string& bytes, const std::vector<float>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

}  // namespace

Ranges::Ranges(int64_t dim)
    : lowest_(static_cast<size_t>(dim), std::numeric_limits<float>::infinity()),
      highest_(static_cast<size_t>(dim), -std::numeric_limits<float>::infinity()) {}

Ranges Ranges::read(const std::string& path, int64_t dim) {
  const NpyHeader header = read_npy_header(path);
  if (header.descr != kElementType || header.rows != 2 || header.cols != dim) {
    throw Error({.code = kRangesError,
                 .what = "the quantization ranges do not fit the embeddings",
                 .where = path,
                 .expected = fmt::format("'{}' of shape (2, {})", kElementType, dim),
                 .found = fmt::format("'{}' of shape ({}, {})", preview(header.descr), header.rows,
                                      header.cols),
                 .hint = kRangesHint});
  }
  NpyReader reader(path);
  const std::span<const float> values = reader.next(2);
  Ranges ranges(dim);
  for (size_t i = 0; i < ranges.lowest_.size(); ++i) {
    ranges.lowest_[i] = values[i];
    ranges.highest_[i] = values[i + ranges.lowest_.size()];
    const bool good = std::isfinite(ranges.lowest_[i]) && std::isfinite(ranges.highest_[i]) &&
                      ranges.lowest_[i] <= ranges.highest_[i];
    if (good) continue;
    throw Error({.code = kRangesError,
                 .what = "the quantization ranges are not valid",
                 .where = path,
                 .expected = "finite numbers: for each column a lowest value, and a highest value "
                             "that is not below it",
                 .found = column_text(i, ranges.lowest_[i], ranges.highest_[i]),
                 .hint = kRangesHint});
  }
  return ranges;
}

Ranges Ranges::of_final(const std::string& matrix_path, const Manifest& manifest) {
  const std::string path = ranges_path(matrix_path);
  if (!ranges_fit(matrix_path, manifest))
    throw damage("the ranges file of a matrix is damaged or missing", path,
                 "XXH3-128 " + manifest.ranges_xxh3_128, "no file, or another checksum");
  return read(path, manifest.identity.dim);
}

Ranges Ranges::side_by_side(const std::vector<Ranges>& parts) {
  Ranges all(0);
  for (const Ranges& part : parts) {
    all.lowest_.insert(all.lowest_.end(), part.lowest_.begin(), part.lowest_.end());
    all.highest_.insert(all.highest_.end(), part.highest_.begin(), part.highest_.end());
  }
  return all;
}

void Ranges::widen(std::span<const float> rows) {
  const size_t dim = lowest_.size();
  for (size_t begin = 0; begin < rows.size(); begin += dim) {
    for (size_t i = 0; i < dim; ++i) {
      lowest_[i] = std::min(lowest_[i], rows[begin + i]);
      highest_[i] = std::max(highest_[i], rows[begin + i]);
    }
  }
}

std::string Ranges::npy_bytes() const {
  const auto dim = static_cast<int64_t>(lowest_.size());
  std::string bytes = make_npy_header(2, dim, kElementType);
  if (!lowest_.empty() && lowest_[0] > highest_[0]) {  // writes zeros, because there are no rows
    bytes.append(lowest_.size() * 2 * sizeof(float), '\0');
    return bytes;
  }
  for (size_t i = 0; i < lowest_.size(); ++i) {
    if (std::isfinite(highest_[i] - lowest_[i])) continue;
    throw Error({.code = kRangesError,
                 .exit_code = ExitCode::kData,
                 .what = "the values of a column are too far apart to be quantized",
                 .where = column_text(i, lowest_[i], highest_[i]),
                 .expected = "a difference that float32 can hold",
                 .found = "a larger difference",
                 .hint = "set output_dtype: float32"});
  }
  append_bytes(bytes, lowest_);
  append_bytes(bytes, highest_);
  return bytes;
}

Quantizer::Quantizer(OutputType type, int64_t dim, const Ranges& ranges)
    : type_(type), dim_(static_cast<size_t>(dim)) {
  if (!has_ranges(type)) return;
  for (size_t i = 0; i < dim_; ++i) {
    const float step = (ranges.highest()[i] - ranges.lowest()[i]) / kBuckets;
    starts_.push_back(ranges.lowest()[i]);
    steps_.push_back(step == 0 ? 1 : step);
  }
}

void Quantizer::convert(std::span<const float> rows, std::vector<std::byte>& bytes) const {
  switch (type_) {
    case OutputType::kFloat32:
      bytes.resize(rows.size_bytes());
      std::memcpy(bytes.data(), rows.data(), rows.size_bytes());
      return;
    case OutputType::kFloat16:
      bytes.resize(rows.size() * 2);
      for (size_t i = 0; i < rows.size(); ++i) {
        const uint16_t half = half_bits(rows[i]);
        std::memcpy(bytes.data() + i * 2, &half, 2);
      }
      return;
    case OutputType::kInt8:
    case OutputType::kUint8:
      return to_buckets(rows, bytes);
    case OutputType::kBinary:
    case OutputType::kUbinary:
      return to_bits(rows, bytes);
  }
}

void Quantizer::to_buckets(std::span<const float> rows, std::vector<std::byte>& bytes) const {
  bytes.resize(rows.size());
  // The item of uint8 is the number of the bucket. The item of int8 is this number minus 128, which
  // only flips the highest bit.
  const unsigned flip = type_ == OutputType::kInt8 ? kSignBit : 0;
  for (size_t begin = 0; begin < rows.size(); begin += dim_) {
    for (size_t i = 0; i < dim_; ++i) {
      const float bucket = std::floor((rows[begin + i] - starts_[i]) / steps_[i]);
      const float clipped = std::min(std::max(bucket, 0.0F), kBuckets);
      bytes[begin + i] = static_cast<std::byte>(static_cast<unsigned>(clipped) ^ flip);
    }
  }
}

void Quantizer::to_bits(std::span<const float> rows, std::vector<std::byte>& bytes) const {
  constexpr size_t kBits = 8;
  const size_t columns = (dim_ + kBits - 1) / kBits;
  const unsigned flip = type_ == OutputType::kBinary ? kSignBit : 0;
  bytes.assign(rows.size() / dim_ * columns, static_cast<std::byte>(flip));
  for (size_t row = 0; row * dim_ < rows.size(); ++row) {
    for (size_t i = 0; i < dim_; ++i) {
      if (rows[row * dim_ + i] > 0)
        bytes[row * columns + i / kBits] ^= static_cast<std::byte>(kSignBit >> i % kBits);
    }
  }
}

Dequantizer::Dequantizer(OutputType type, const Ranges& ranges) : type_(type) {
  if (!has_ranges(type)) return;
  constexpr float kMiddle = 0.5F;
  // The item of int8 is the number of the bucket minus 128.
  shift_ = kMiddle + (type == OutputType::kInt8 ? static_cast<float>(kSignBit) : 0);
  starts_.assign(ranges.lowest().begin(), ranges.lowest().end());
  for (size_t i = 0; i < starts_.size(); ++i)
    steps_.push_back((ranges.highest()[i] - ranges.lowest()[i]) / kBuckets);
}

void Dequantizer::convert(std::span<float> rows) const {
  if (type_ == OutputType::kBinary || type_ == OutputType::kUbinary) {
    for (float& bit : rows) bit = 2 * bit - 1;
  } else if (has_ranges(type_)) {
    const size_t dim = starts_.size();
    for (size_t begin = 0; begin < rows.size(); begin += dim) {
      for (size_t i = 0; i < dim; ++i)
        rows[begin + i] = starts_[i] + (rows[begin + i] + shift_) * steps_[i];
    }
  }
}

}  // namespace encode
