// Converts float32 rows to the bytes of an output type, and the items of an output type back. The
// computations are the computations of quantize_embeddings in sentence-transformers, in float32 and
// in the same order, so that the bytes are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"
#include "encode/types.h"

namespace encode {

// The lowest and the highest value of each column. Not thread-safe.
class Ranges {
 public:
  explicit Ranges(int64_t dim);
  // Reads a float32 .npy file of shape [2, dim]: row 0 has the lowest values, and row 1 the
  // highest. Throws Error:
  // - kNoInput if the file does not exist,
  // - kData if it is not a .npy file,
  // - kConfig "store.ranges" if it has another shape or type, a value that is not finite, or a
  //   lowest value above the highest value of its column.
  static Ranges read(const std::string& path, int64_t dim);
  // Reads the ranges file beside a final of a type with ranges. Throws Error kData "store.damaged"
  // if the file is missing or is not that of the manifest, and what read() throws.
  static Ranges of_final(const std::string& matrix_path, const Manifest& manifest);
  // Returns the ranges of a combined matrix: the ranges of its parts, in order.
  static Ranges side_by_side(const std::vector<Ranges>& parts);

  // Extends the ranges so that they contain the values of `rows`, which must be whole rows.
  void widen(std::span<const float> rows);
  // Returns the bytes of a .npy file of shape [2, dim], in the format of read(). All values are 0
  // if widen() has seen no rows. Throws Error kData "store.ranges" if the difference between the
  // highest and the lowest value of a column overflows float32.
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

  // Replaces `bytes` by the converted rows. Each row becomes output_columns(type, dim) items of the
  // element type npy_type(type). `rows` must be whole rows of finite values.
  void convert(std::span<const float> rows, std::vector<std::byte>& bytes) const;

 private:
  void to_buckets(std::span<const float> rows, std::vector<std::byte>& bytes) const;
  void to_bits(std::span<const float> rows, std::vector<std::byte>& bytes) const;

  OutputType type_;
  size_t dim_;
  std::vector<float> starts_;
  std::vector<float> steps_;
};

// Converts the items of one output type back to the numbers that they stand for. Immutable, so any
// thread may use it.
class Dequantizer {
 public:
  // Uses `ranges` only if has_ranges(type). Copies what it needs. Does not throw Error.
  Dequantizer(OutputType type, const Ranges& ranges);

  // Converts whole rows in place. An integer of kInt8 or kUint8 becomes the middle of its bucket; a
  // bit, which is 0 or 1, becomes -1 or 1; any other number stays as it is.
  void convert(std::span<float> rows) const;

 private:
  OutputType type_;
  float shift_ = 0;
  std::vector<float> starts_;
  std::vector<float> steps_;
};

}  // namespace encode
