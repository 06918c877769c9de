// Rows of float32 -> the bytes of a final, by the arithmetic of sentence-transformers'
// quantize_embeddings: float32 throughout, in its order, so that the bytes are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encode/types.h"

namespace encode {

// The lowest and the highest value of each column.
class Ranges {
 public:
  explicit Ranges(int64_t dim);
  // Throws Error: kNoInput, kConfig "store.ranges" for anything but a float32 .npy of [2, dim],
  // finite, no lowest above its highest.
  static Ranges read(const std::string& path, int64_t dim);
  // Those of parts whose columns stand side by side.
  static Ranges side_by_side(const std::vector<Ranges>& parts);

  void widen(std::span<const float> rows);  // whole rows
  // The .npy file of [2, dim]; a matrix without rows has zeros. Throws Error kData "store.ranges"
  // where a column is too wide for float32.
  std::string npy_bytes() const;

  std::span<const float> lowest() const { return lowest_; }
  std::span<const float> highest() const { return highest_; }

 private:
  std::vector<float> lowest_;
  std::vector<float> highest_;
};

// Immutable.
class Quantizer {
 public:
  // `ranges` is used where has_ranges(type).
  Quantizer(OutputType type, int64_t dim, const Ranges& ranges);

  // Whole rows of finite values -> output_columns(type, dim) items of npy_type(type) a row; `bytes`
  // is replaced.
  void convert(std::span<const float> rows, std::vector<std::byte>& bytes) const;

 private:
  void to_buckets(std::span<const float> rows, std::vector<std::byte>& bytes) const;
  void to_bits(std::span<const float> rows, std::vector<std::byte>& bytes) const;

  OutputType type_;
  size_t dim_;
  std::vector<float> starts_;
  std::vector<float> steps_;
};

}  // namespace encode
