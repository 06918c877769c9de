// Replaces src/nn/cuda/launch/warp_matrix.cuh when g++ compiles the kernels for the CPU. It
// computes the same products with shuffles, and adds the 16 terms of an element in their order.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <source_location>

#include "launch.cuh"

namespace encode::cuda {

// The two numbers in a register.
template <typename T>
struct Halves {
  T values[2];
};

template <typename T>
float half_of(uint32_t bits, int index) {
  Halves<T> halves;
  std::memcpy(&halves, &bits, sizeof halves);
  return static_cast<float>(halves.values[index]);
}

// Returns what all lanes of the warp pass. It waits for them once before and once after reading,
// which is much faster than a shuffle for each value.
template <typename Value>
std::array<Value, 32> of_all_lanes(const Value& own, std::source_location where) {
  constexpr uint32_t kAllLanes = 0xffffffffU;
  constexpr size_t kMostWarps = 32;
  static std::array<std::array<Value, 32>, kMostWarps> passed;
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  std::array<Value, 32>& of_warp = passed[thread / 32];
  of_warp[thread % 32] = own;
  emulator::wait_for_lanes(kAllLanes, where);
  const std::array<Value, 32> values = of_warp;
  emulator::wait_for_lanes(kAllLanes, where);
  return values;
}

// The operands of one lane.
struct Operands {
  uint32_t a[4];
  uint32_t b[2];
};

template <typename T>
void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                  std::source_location where = std::source_location::current()) {
  const std::array<Operands, 32> lanes =
      of_all_lanes<Operands>({{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, where);
  const int group = emulator::own_lane() / 4;
  const int place = emulator::own_lane() % 4;
  // The columns 2p and 2p + 1 of A, and the rows 2p and 2p + 1 of B, are with the threads of place
  // p. `part` 1 has the columns and rows from 8 on.
  for (int part = 0; part < 2; ++part) {
    for (int p = 0; p < 4; ++p) {
      const Operands& rows = lanes[static_cast<size_t>(4 * group + p)];
      for (int column = 0; column < 2; ++column) {
        const Operands& factors = lanes[static_cast<size_t>(4 * (2 * place + column) + p)];
        for (int term = 0; term < 2; ++term) {
          const float factor = half_of<T>(factors.b[part], term);
          sum[column] += half_of<T>(rows.a[2 * part], term) * factor;
          sum[2 + column] += half_of<T>(rows.a[2 * part + 1], term) * factor;
        }
      }
    }
  }
}

inline uint32_t transposed(uint32_t row,
                           std::source_location where = std::source_location::current()) {
  const std::array<uint32_t, 32> rows = of_all_lanes(row, where);
  const int column = emulator::own_lane() / 4;  // this thread's rows of it are 2p and 2p + 1
  const int place = emulator::own_lane() % 4;
  uint32_t result = 0;
  for (int i = 0; i < 2; ++i) {
    const uint32_t bits = rows[static_cast<size_t>(4 * (2 * place + i) + column / 2)];
    result |= (bits >> (16 * (column % 2)) & 0xffffU) << (16 * i);
  }
  return result;
}

}  // namespace encode::cuda
