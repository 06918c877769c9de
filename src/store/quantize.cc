#include "store/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "encode/error.h"

#include "base/half.h"
#include "base/npy_reader.h"
#include "base/output_types.h"
#include "kernels/kernels.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr float kLargestHalf = 65504;
constexpr unsigned kHighestBit = 0x80;
constexpr int64_t kBitsOfByte = 8;

constexpr ErrorCode kRangesError = "store.ranges";
constexpr const char* kRangesHint =
    "for float32 embeddings x, numpy.save(FILE, numpy.vstack((x.min(axis=0), x.max(axis=0)))) "
    "writes such a file";

std::string column_text(size_t column, float lowest, float highest) {
  return fmt::format("column {}: {} to {}", column, lowest, highest);
}

// Returns the number of steps that the range of a column is divided into.
float steps_of(OutputType type) {
  return static_cast<float>((int64_t{1} << facts_of(type).bits) - 1);
}

void append_bytes(std::string& bytes, const std::vector<float>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// Replaces `bits` by the bits of the rows, as numbers 1 and 0.
void unpack_bits(const StoredRows& rows, std::vector<float>& bits) {
  const int64_t columns = output_columns(rows.type, rows.dim);
  const int64_t count = std::ssize(rows.bytes) / columns;
  const unsigned flip = item_facts(rows.type).sign_bit;
  bits.resize(static_cast<size_t>(count * rows.dim));
  float* to = bits.data();
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < rows.dim; ++i) {
      const std::byte stored = rows.bytes[static_cast<size_t>(row * columns + i / kBitsOfByte)];
      const unsigned mask = kHighestBit >> static_cast<unsigned>(i % kBitsOfByte);
      *to++ = ((static_cast<unsigned>(stored) ^ flip) & mask) != 0 ? 1.0F : 0.0F;
    }
  }
}

}  // namespace

Ranges::Ranges(int64_t dim)
    : lowest_(static_cast<size_t>(dim), std::numeric_limits<float>::infinity()),
      highest_(static_cast<size_t>(dim), -std::numeric_limits<float>::infinity()) {}

Ranges Ranges::read(const std::string& path, int64_t dim) {
  const NpyHeader header = read_npy_header(path);
  if (header.item != ItemType::kFloat32 || header.rows != 2 || header.cols != dim) {
    throw Error(
        {.code = kRangesError,
         .what = "the quantization ranges do not fit the embeddings",
         .where = path,
         .expected = fmt::format("float32 of shape (2, {})", dim),
         .found = fmt::format("{} of shape ({}, {})", header.item_word(), header.rows, header.cols),
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

void Ranges::widen(const Ranges& next) {
  for (size_t i = 0; i < lowest_.size(); ++i) {
    lowest_[i] = std::min(lowest_[i], next.lowest_[i]);
    highest_[i] = std::max(highest_[i], next.highest_[i]);
  }
}

std::string Ranges::npy_bytes() const {
  const auto dim = static_cast<int64_t>(lowest_.size());
  std::string bytes = make_npy_header(2, dim, ItemType::kFloat32);
  if (!lowest_.empty() && lowest_[0] > highest_[0]) {  // widen() has seen no rows
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
                 .hint = "give --output-dtype float32 (semantic.output_dtype)"});
  }
  append_bytes(bytes, lowest_);
  append_bytes(bytes, highest_);
  return bytes;
}

Quantizer::Quantizer(OutputType type, int64_t dim, const Ranges& ranges)
    : type_(type), dim_(static_cast<size_t>(dim)) {
  if (!has_ranges(type)) return;
  for (size_t i = 0; i < dim_; ++i) {
    const float step = (ranges.highest()[i] - ranges.lowest()[i]) / steps_of(type);
    starts_.push_back(ranges.lowest()[i]);
    steps_.push_back(step == 0 ? 1 : step);
  }
}

void Quantizer::require_fit(std::span<const float> rows, int64_t first_row) const {
  switch (facts_of(type_).item) {
    case ItemType::kFloat32:
    case ItemType::kInt8:
    case ItemType::kUint8:
      return;
    case ItemType::kFloat16:
      break;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::isfinite(half_value(half_bits(rows[i])))) continue;
    throw Error({.code = "store.float16",
                 .what = "a value does not fit float16",
                 .where = fmt::format("row {}", first_row + static_cast<int64_t>(i / dim_)),
                 .expected = fmt::format("a magnitude of at most {}", kLargestHalf),
                 .found = fmt::to_string(rows[i]),
                 .hint = "give --output-dtype float32 (semantic.output_dtype), or --normalize "
                         "(semantic.normalize: true)"});
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
  const unsigned flip = item_facts(type_).sign_bit;
  const float last = steps_of(type_);
  for (size_t begin = 0; begin < rows.size(); begin += dim_) {
    for (size_t i = 0; i < dim_; ++i) {
      const float bucket = std::floor((rows[begin + i] - starts_[i]) / steps_[i]);
      const float clipped = std::min(std::max(bucket, 0.0F), last);
      bytes[begin + i] = static_cast<std::byte>(static_cast<unsigned>(clipped) ^ flip);
    }
  }
}

void Quantizer::to_bits(std::span<const float> rows, std::vector<std::byte>& bytes) const {
  constexpr auto kBits = static_cast<size_t>(kBitsOfByte);
  const auto columns = static_cast<size_t>(output_columns(type_, static_cast<int64_t>(dim_)));
  const unsigned flip = item_facts(type_).sign_bit;
  bytes.assign(rows.size() / dim_ * columns, static_cast<std::byte>(flip));
  for (size_t row = 0; row * dim_ < rows.size(); ++row) {
    for (size_t i = 0; i < dim_; ++i) {
      if (rows[row * dim_ + i] > 0)
        bytes[row * columns + i / kBits] ^= static_cast<std::byte>(kHighestBit >> i % kBits);
    }
  }
}

std::span<const float> as_floats(const StoredRows& rows, std::vector<float>& buffer) {
  const kernels::Kernels& best = kernels::kernels();
  const std::byte* const from = rows.bytes.data();
  const auto items = std::ssize(rows.bytes) / item_facts(rows.type).bytes;
  if (rows.type == OutputType::kFloat32)
    return {reinterpret_cast<const float*>(from), static_cast<size_t>(items)};
  buffer.resize(static_cast<size_t>(items));
  switch (rows.type) {
    case OutputType::kFloat32:
      break;
    case OutputType::kFloat16:
      best.float16.widen(reinterpret_cast<const kernels::Float16*>(from), items, buffer.data());
      break;
    case OutputType::kInt8:
      best.widen_int8(reinterpret_cast<const int8_t*>(from), items, buffer.data());
      break;
    case OutputType::kUint8:
      best.widen_uint8(reinterpret_cast<const uint8_t*>(from), items, buffer.data());
      break;
    case OutputType::kBinary:
    case OutputType::kUbinary:
      unpack_bits(rows, buffer);
      break;
  }
  return buffer;
}

Dequantizer::Dequantizer(OutputType type, const Ranges& ranges) : type_(type) {
  if (!has_ranges(type)) return;
  constexpr float kMiddle = 0.5F;
  shift_ = kMiddle + static_cast<float>(item_facts(type).sign_bit);
  starts_.assign(ranges.lowest().begin(), ranges.lowest().end());
  for (size_t i = 0; i < starts_.size(); ++i)
    steps_.push_back((ranges.highest()[i] - ranges.lowest()[i]) / steps_of(type));
}

void Dequantizer::convert(std::span<float> rows) const {
  const size_t dim = starts_.size();
  switch (facts_of(type_).quantization) {
    case Quantization::kNone:
      return;
    case Quantization::kScalar:
      for (size_t begin = 0; begin < rows.size(); begin += dim) {
        for (size_t i = 0; i < dim; ++i)
          rows[begin + i] = starts_[i] + (rows[begin + i] + shift_) * steps_[i];
      }
      return;
    case Quantization::kBinary:
      for (float& bit : rows) bit = 2 * bit - 1;
      return;
  }
}

}  // namespace encode
