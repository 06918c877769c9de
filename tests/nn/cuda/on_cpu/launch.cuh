// Replaces src/nn/cuda/launch/launch.cuh when g++ compiles the kernels for the CPU. It declares the
// same functions, and the parts of CUDA C++ that the kernels use. For g++, the CUDA toolkit's own
// headers define `__device__` and `__global__` as nothing, and their conversions of float16,
// bfloat16 and fp8 work on the CPU.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include <cuda_runtime.h>

#include "emulator.h"

// These variables have the values for the thread that runs now.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

inline void __syncthreads(std::source_location where = std::source_location::current()) {
  encode::emulator::wait_for_block(where);
}

inline void __syncwarp(uint32_t mask = 0xffffffffU,
                       std::source_location where = std::source_location::current()) {
  encode::emulator::wait_for_lanes(mask, where);
}

template <typename T>
T __shfl_sync(uint32_t mask, T value, int source_lane,
              std::source_location where = std::source_location::current()) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = encode::emulator::shuffle(mask, bits, source_lane, where);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
T __shfl_xor_sync(uint32_t mask, T value, int distance,
                  std::source_location where = std::source_location::current()) {
  return __shfl_sync(mask, value, encode::emulator::own_lane() ^ distance, where);
}

template <typename T>
T __shfl_down_sync(uint32_t mask, T value, int distance,
                   std::source_location where = std::source_location::current()) {
  return __shfl_sync(mask, value, encode::emulator::own_lane() + distance, where);
}

inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
using std::max;

template <typename T>
void __stwb(T* to, T value) {
  *to = value;
}

namespace encode::cuda {

// The emulator runs one kernel after the other.
inline void wait_for_earlier_kernels() {}

inline bool has_tensor_cores(const void* /*kernel*/) { return true; }  // warp_matrix.cuh

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
};

template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), const LaunchShape& shape, void* /*stream*/,
           const Arguments&... arguments) {
  emulator::run({shape.grid, shape.block, shape.shared_bytes}, [&] { kernel(arguments...); });
  return 0;
}

template <typename Purpose, typename T, int kCount>
T* shared_array(std::source_location where = std::source_location::current()) {
  static const char key = 0;
  return static_cast<T*>(emulator::shared_array(&key, kCount * sizeof(T), where));
}

inline uint4* dynamic_shared(std::source_location where = std::source_location::current()) {
  return static_cast<uint4*>(emulator::dynamic_shared(where));
}

}  // namespace encode::cuda
