// Converts the elements of a matrix file to float32. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "encode/types.h"

namespace encode {

// Returns the elements as float32 numbers, which hold every value of the types exactly. `descr` is
// the type as NpyHeader::descr has it: "<f4", "<f2", "|i1" or "|u1". Float32 elements, which must
// be aligned, are returned as they are; for any other type the result is in `buffer`, which is
// resized. Throws what kernels::kernels() throws.
std::span<const float> as_floats(std::span<const std::byte> elements, std::string_view descr,
                                 std::vector<float>& buffer);

// Whole rows of kBinary or kUbinary, each of output_columns(type, dim) bytes.
struct PackedRows {
  std::span<const std::byte> bytes;
  OutputType type = OutputType::kUbinary;
  int64_t dim = 0;
};
// Replaces `bits` by the bits of the rows, row-major [rows, dim]: 1.0 for a set bit and 0.0 for
// another. Does not throw Error.
void unpack_bits(const PackedRows& rows, std::vector<float>& bits);

// Returns the eight bits that a byte of such a row stands for, with the first column in the highest
// bit. Does not throw Error.
inline uint8_t packed_bits(std::byte stored, OutputType type) {
  constexpr unsigned kHighestBit = 0x80;
  const unsigned flip = type == OutputType::kBinary ? kHighestBit : 0;
  return static_cast<uint8_t>(static_cast<unsigned>(stored) ^ flip);
}

}  // namespace encode
