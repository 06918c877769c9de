// Reads and writes 16 bytes of a row at a time, and converts them to float32 and back.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "launch.cuh"
#include "plugin.h"

namespace encode::cuda {

constexpr int kWarpThreads = 32;

// The number of elements in 16 bytes.
template <typename T>
constexpr int kLane = static_cast<int>(16 / sizeof(T));

// A vector: 16 bytes of a row, as they are in memory.
template <typename T>
struct Packed {
  T values[kLane<T>];
};
static_assert(sizeof(Packed<__half>) == sizeof(uint4) && sizeof(Packed<float>) == sizeof(uint4));

// A lane: the elements of a vector, as float32.
template <typename T>
struct Lane {
  float values[kLane<T>];
};

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
__device__ T narrow(float x);
template <>
__device__ inline float narrow<float>(float x) {
  return x;
}
template <>
__device__ inline __half narrow<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

template <typename T>
__device__ Lane<T> unpack(uint4 bits) {
  Packed<T> packed;
  memcpy(&packed, &bits, sizeof bits);
  Lane<T> lane;
#pragma unroll
  for (int i = 0; i < kLane<T>; ++i) lane.values[i] = widen(packed.values[i]);
  return lane;
}

template <typename T>
__device__ Lane<T> load(const T* from) {
  return unpack<T>(*reinterpret_cast<const uint4*>(from));
}

template <typename T>
__device__ uint4 pack(const Lane<T>& lane) {
  Packed<T> packed;
#pragma unroll
  for (int i = 0; i < kLane<T>; ++i) packed.values[i] = narrow<T>(lane.values[i]);
  uint4 bits;
  memcpy(&bits, &packed, sizeof bits);
  return bits;
}

template <typename T>
__device__ void store(T* to, const Lane<T>& lane) {
  // __stwb() stores 16 bytes with one instruction. Without it the compiler splits some stores.
  __stwb(reinterpret_cast<uint4*>(to), pack(lane));
}

// Reads kLane<T> floats.
template <typename T>
__device__ Lane<T> load_floats(const float* from) {
  Lane<T> lane;
#pragma unroll
  for (int i = 0; i < kLane<T>; i += kLane<float>) {
    const Lane<float> part = load(from + i);
#pragma unroll
    for (int j = 0; j < kLane<float>; ++j) lane.values[i + j] = part.values[j];
  }
  return lane;
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % sizeof(uint4) == 0;
}

template <typename... Pointers>
bool all_aligned(Pointers... pointers) {
  return (is_aligned(pointers) && ...);
}

// Returns kLane<T> for the element type that `type` names.
inline int lane_of(EncodeCudaType type) { return type == kEncodeCudaFloat32 ? 4 : 8; }

// The largest number of blocks in the first dimension of a grid.
constexpr int64_t kMaxBlocks = INT32_MAX;

// Returns launch(T{}) for the element type T that `type` names.
template <typename Launch>
int launch_for(EncodeCudaType type, const Launch& launch) {
  switch (type) {
    case kEncodeCudaFloat32:
      return launch(float{});
    case kEncodeCudaFloat16:
      return launch(__half{});
    case kEncodeCudaBFloat16:
      return launch(__nv_bfloat16{});
  }
  return kEncodeCudaUnsupported;
}

}  // namespace encode::cuda
