// Converts float32 rows to the bytes of an output type, and the bytes back to numbers. The
// operations are those of quantize_embeddings in sentence-transformers, in float32 and in the same
// order, so that the bytes are equal.
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
  // Reads the ranges file beside a final matrix of a type with ranges. Throws Error kData
  // "store.damaged" if the file is missing or does not have the checksum in the manifest, and what
  // read() throws.
  static Ranges of_final(const std::string& matrix_path, const Manifest& manifest);
  // Returns the ranges of a combined matrix: the ranges of its parts, in order.
  static Ranges side_by_side(const std::vector<Ranges>& parts);

  // Extends the ranges so that they contain the values of `rows`, which must be whole rows.
  void widen(std::span<const float> rows);
  // Extends the ranges as if widen() got the rows of `next` after its own.
  void widen(const Ranges& next);
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

  // Throws Error kData "store.float16" if a value is too large for the items of the type. `rows`
  // are whole rows. The error counts them from `first_row`, the number of the first of them.
  void require_fit(std::span<const float> rows, int64_t first_row) const;

  // Replaces `bytes` by the converted rows. Each row becomes output_columns(type, dim) items.
  // `rows` must be whole rows of finite values.
  void convert(std::span<const float> rows, std::vector<std::byte>& bytes) const;

 private:
  void to_buckets(std::span<const float> rows, std::vector<std::byte>& bytes) const;
  void to_bits(std::span<const float> rows, std::vector<std::byte>& bytes) const;

  OutputType type_;
  size_t dim_;
  std::vector<float> starts_;
  std::vector<float> steps_;
};

// Whole rows as a file has them, each of output_columns(type, dim) items. Float32 items must be
// aligned.
struct StoredRows {
  std::span<const std::byte> bytes;
  OutputType type = OutputType::kFloat32;
  int64_t dim = 0;
};

// Returns the stored numbers, row-major [rows, dim]. float32 holds each of them exactly:
// - Quantization::kNone: the values;
// - kScalar: the integers, without the ranges of the columns;
// - kBinary: 1.0 for a bit that is 1, and 0.0 for a bit that is 0.
// Float32 items are returned as they are; for any other type the result is in `buffer`, which is
// resized. Any thread may call it. Throws what kernels::kernels() throws.
std::span<const float> as_floats(const StoredRows& rows, std::vector<float>& buffer);

// Converts the numbers that as_floats() returns to the numbers that they stand for. Immutable, so
// any thread may use it.
class Dequantizer {
 public:
  // Uses `ranges` only if has_ranges(type). Copies what it needs. Does not throw Error.
  Dequantizer(OutputType type, const Ranges& ranges);

  // Converts whole rows in place. With Quantization::kScalar a number becomes the middle of its
  // bucket; with kBinary a bit, which is 0 or 1, becomes -1 or 1; with kNone it stays as it is.
  void convert(std::span<float> rows) const;

 private:
  OutputType type_;
  float shift_ = 0;
  std::vector<float> starts_;
  std::vector<float> steps_;
};

}  // namespace encode
