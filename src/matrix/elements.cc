#include "matrix/elements.h"

#include "kernels/kernels.h"

namespace encode {
namespace {

constexpr unsigned kHighestBit = 0x80;
constexpr int64_t kBitsOfByte = 8;

}  // namespace

std::span<const float> as_floats(std::span<const std::byte> elements, std::string_view descr,
                                 std::vector<float>& buffer) {
  if (descr == "<f4")
    return {reinterpret_cast<const float*>(elements.data()), elements.size() / sizeof(float)};
  const kernels::Kernels& best = kernels::kernels();
  const bool half = descr == "<f2";
  buffer.resize(half ? elements.size() / sizeof(kernels::Float16) : elements.size());
  const auto count = static_cast<int64_t>(buffer.size());
  if (half) {
    best.float16.widen(reinterpret_cast<const kernels::Float16*>(elements.data()), count,
                       buffer.data());
  } else if (descr == "|i1") {
    best.widen_int8(reinterpret_cast<const int8_t*>(elements.data()), count, buffer.data());
  } else {
    best.widen_uint8(reinterpret_cast<const uint8_t*>(elements.data()), count, buffer.data());
  }
  return buffer;
}

void unpack_bits(const PackedRows& rows, std::vector<float>& bits) {
  const int64_t columns = output_columns(rows.type, rows.dim);
  const int64_t count = std::ssize(rows.bytes) / columns;
  bits.resize(static_cast<size_t>(count * rows.dim));
  float* to = bits.data();
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < rows.dim; ++i) {
      const std::byte stored = rows.bytes[static_cast<size_t>(row * columns + i / kBitsOfByte)];
      const unsigned mask = kHighestBit >> static_cast<unsigned>(i % kBitsOfByte);
      *to++ = (packed_bits(stored, rows.type) & mask) != 0 ? 1.0F : 0.0F;
    }
  }
}

}  // namespace encode
