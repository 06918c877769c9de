// Converts float32 rows to the bytes of a final. It computes what quantize_embeddings of
// sentence-transformers computes, in float32 and in the same order, so that the bytes are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encode/types.h"

namespace encode {

// The lowest and the highest value of each column. Not thread-safe.
class Ranges {
 public:
  explicit Ranges(int64_t dim);
  // Reads a float32 .npy file of shape [2, dim]: the lowest values, then the highest. Throws Error:
  // kNoInput, kData for a file that is not .npy, kConfig "store.ranges" for another shape or type,
  // for a value that is not finite, or for a lowest value above its highest.
  static Ranges read(const std::string& path, int64_t dim);
  // The ranges of a combined matrix, in the order of its parts.
  static Ranges side_by_side(const std::vector<Ranges>& parts);

  // Extends the ranges so that they contain the values of `rows`, which are whole rows.
  void widen(std::span<const float> rows);
  // Returns the bytes of a .npy file of shape [2, dim]. It holds zeros if the matrix has no rows.
  // Throws Error kData "store.ranges" if a difference highest - lowest overflows float32.
  std::string npy_bytes() const;

  std::span<const float> lowest() const { return lowest_; }
  std::span<const float> highest() const { return highest_; }

 private:
  std::vector<float> lowest_;
  std::vector<float> highest_;
};

// Converts rows to one output type. Immutable, so any thread may use it.
class Quantizer {
 public:
  // Uses `ranges` only if has_ranges(type). Copies what it needs. Does not throw Error.
  Quantizer(OutputType type, int64_t dim, const Ranges& ranges);

  // Replaces `bytes` by the converted rows: output_columns(type, dim) items of npy_type(type) for
  // each row. `rows` are whole rows of finite values.
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
