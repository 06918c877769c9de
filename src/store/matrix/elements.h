// Converts the elements of a matrix file to float32. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encode/types.h"

namespace encode {

// Whole rows as a file has them, each of output_columns(type, dim) elements. Float32 elements must
// be aligned.
struct StoredRows {
  std::span<const std::byte> bytes;
  OutputType type = OutputType::kFloat32;
  int64_t dim = 0;
};

// Returns rows as float32 numbers, row-major [rows, dim], which hold every element exactly:
// - float32, float16: the values;
// - int8, uint8: the integers, without the ranges of the columns;
// - binary, ubinary: 1.0 for a set bit, 0.0 for another.
// Float32 elements are returned as they are; for any other type the result is in `buffer`, which is
// resized. Throws what kernels::kernels() throws.
std::span<const float> as_floats(const StoredRows& rows, std::vector<float>& buffer);

// Returns the eight bits that a byte of kBinary or kUbinary stands for, with the first column in
// the highest bit. Does not throw Error.
inline uint8_t packed_bits(std::byte stored, OutputType type) {
  constexpr unsigned kHighestBit = 0x80;
  const unsigned flip = type == OutputType::kBinary ? kHighestBit : 0;
  return static_cast<uint8_t>(static_cast<unsigned>(stored) ^ flip);
}

}  // namespace encode
