// Rows in registers to 8-bit floats; nn/fp8/rows.h says which.
#pragma once

#include <type_traits>

#include <cuda_fp8.h>

#include "../fp8/format.h"
#include "rows.cuh"

namespace encode::cuda {

// What kernels quantize beside their own work: rows of bfloat16, the type around fp8 products.
inline bool takes_fp8(EncodeCudaType type, int64_t width) {
  return type == kEncodeCudaBFloat16 && width % kFp8WidthStep == 0;
}

// As it would be stored, so that a row has the same bits whether it is quantized at once or later.
template <typename T>
__device__ void round_lane(Lane<T>& lane) {
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) lane.values[j] = widen(narrow<T>(lane.values[j]));
}

// Row r's `width` e4m3 values at values + r * width, its scale at scale[r].
struct Fp8Row {
  uint8_t* values;
  float* scale;

  __device__ Fp8Row(const EncodeCudaFp8Rows& rows, int64_t row, int64_t width)
      : values(static_cast<uint8_t*>(rows.values) + row * width), scale(rows.scale + row) {}
};

template <typename T>
__device__ void store_fp8(uint8_t* to, const Lane<T>& lane, float inverse) {
  __nv_fp8x2_storage_t pairs[kLane<T> / 2];
#pragma unroll
  for (int j = 0; j < kLane<T>; j += 2) {
    const float2 pair = {lane.values[j] * inverse, lane.values[j + 1] * inverse};
    pairs[j / 2] = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
  }
  std::conditional_t<sizeof pairs == sizeof(uint2), uint2, uint32_t> bits;
  static_assert(sizeof bits == sizeof pairs);
  memcpy(&bits, pairs, sizeof bits);
  *reinterpret_cast<decltype(bits)*>(to) = bits;
}

// The largest magnitude so far, as bits. In that form magnitudes are in order, and above them all
// are infinity and the NaNs: fmaxf() would lose a NaN.
template <typename T>
__device__ uint32_t larger(uint32_t magnitude, const Lane<T>& lane) {
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j)
    magnitude = max(magnitude, __float_as_uint(fabsf(lane.values[j])));
  return magnitude;
}

struct ScalePartials;  // names the shared memory of settle_scale()

// From the largest magnitude of this thread's part of a row: writes the row's scale, returns what
// its elements are multiplied with. Every thread of the block must call it.
__device__ inline float settle_scale(uint32_t magnitude, bool writes, float* scale) {
  uint32_t* partial = shared_array<ScalePartials, uint32_t, kMaxRowWarps>();
  const auto larger_of = [](uint32_t a, uint32_t b) { return max(a, b); };
  const float largest = __uint_as_float(
      max(row_reduce(magnitude, partial, larger_of), __float_as_uint(kFp8LeastMagnitude)));
  if (writes) *scale = __fdiv_rn(largest, kFp8Largest);
  return __fdiv_rn(kFp8Largest, largest);
}

// A row in registers. Every thread of the block must call it; `vectors` 0 for a thread without a
// row.
template <typename T, int kLanes>
__device__ void quantize(Row<T, kLanes>& row, int64_t vectors, const Fp8Row& to) {
  uint32_t magnitude = 0;
  row.each(vectors, [&](Lane<T>& lane, int64_t) { magnitude = larger(magnitude, lane); });
  const float inverse = settle_scale(magnitude, vectors > 0 && threadIdx.x == 0, to.scale);
  row.each(vectors,
           [&](Lane<T>& lane, int64_t element) { store_fp8(to.values + element, lane, inverse); });
}

// Rows that one block makes each, vector by vector, may be this wide: they wait in shared memory,
// as they would be stored, until their scale is known.
constexpr int64_t kMostSharedBytes = 48 * 1024 - 1024;
constexpr int kSharedRowThreads = 256;

template <typename T, typename LaneAt>
__device__ void quantize_shared(int64_t width, const LaneAt& lane_at, const Fp8Row& to) {
  uint4* waiting = dynamic_shared();
  const int64_t vectors = width / kLane<T>;
  uint32_t magnitude = 0;
  for (int64_t vector = threadIdx.x; vector < vectors; vector += blockDim.x) {
    waiting[vector] = pack(lane_at(vector * kLane<T>));
    magnitude = larger(magnitude, unpack<T>(waiting[vector]));
  }
  const float inverse = settle_scale(magnitude, threadIdx.x == 0, to.scale);
  for (int64_t vector = threadIdx.x; vector < vectors; vector += blockDim.x)  // its own again
    store_fp8(to.values + vector * kLane<T>, unpack<T>(waiting[vector]), inverse);
}

// How to launch that.
struct SharedRowShape {
  unsigned threads = 0;  // 0: the row is too wide
  size_t bytes = 0;

  SharedRowShape(int64_t width, EncodeCudaType type) {
    const int64_t vectors = width / lane_of(type);
    const auto row_bytes = vectors * static_cast<int64_t>(sizeof(uint4));
    if (width % kFp8WidthStep != 0 || row_bytes > kMostSharedBytes) return;
    const int64_t warps = (vectors + kWarpThreads - 1) / kWarpThreads;
    threads = static_cast<unsigned>(warps * kWarpThreads < kSharedRowThreads ? warps * kWarpThreads
                                                                             : kSharedRowThreads);
    bytes = static_cast<size_t>(row_bytes);
  }
};

}  // namespace encode::cuda
