#include "store/matrix/elements.h"

#include "base/npy.h"
#include "kernels/kernels.h"

namespace encode {
namespace {

constexpr unsigned kHighestBit = 0x80;
constexpr int64_t kBitsOfByte = 8;

// Replaces `bits` by the bits of packed rows.
void unpack_bits(const StoredRows& rows, std::vector<float>& bits) {
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

}  // namespace

std::span<const float> as_floats(const StoredRows& rows, std::vector<float>& buffer) {
  const kernels::Kernels& best = kernels::kernels();
  const std::byte* const from = rows.bytes.data();
  const auto items = std::ssize(rows.bytes) / npy_item_bytes(npy_type(rows.type));
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

}  // namespace encode
