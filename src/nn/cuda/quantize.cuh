// Quantizes rows to 8-bit floats, as nn/fp8/fp8_rows.h defines.
#pragma once

#include <type_traits>

#include <cuda_fp8.h>

#include "../fp8/format.h"
#include "rows.cuh"

namespace encode::cuda {

// Tells whether norms and activations can quantize result rows of this type and width. The type
// must be bfloat16, because models with 8-bit floats compute everything else in bfloat16.
inline bool takes_fp8(EncodeCudaType type, int64_t width) {
  return type == kEncodeCudaBFloat16 && width % kFp8WidthStep == 0;
}

// Rounds the lane to T. Quantization then gives the same bits as for a row that was stored as T and
// read again.
template <typename T>
__device__ void round_lane(Lane<T>& lane) {
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) lane.values[j] = widen(narrow<T>(lane.values[j]));
}

// One row of EncodeCudaFp8Rows.
struct Fp8Row {
  uint8_t* values;
  float* scale;

  __device__ Fp8Row(const EncodeCudaFp8Rows& rows, int64_t row, int64_t width)
      : values(static_cast<uint8_t*>(rows.values) + row * width), scale(rows.scale + row) {}
};

// Stores the lane, multiplied by `inverse`, as e4m3 values.
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

// Returns the larger of `magnitude` and the largest magnitude in the lane, both as the bits of a
// float. As integers, these bits have the order of the magnitudes, and a NaN is above infinity.
// fmaxf() would lose a NaN.
template <typename T>
__device__ uint32_t larger(uint32_t magnitude, const Lane<T>& lane) {
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j)
    magnitude = max(magnitude, __float_as_uint(fabsf(lane.values[j])));
  return magnitude;
}

struct ScalePartials;  // Names the shared memory of settle_scale().

// Computes the scale of a row. `magnitude` is the largest magnitude in this thread's part of the
// row, as the bits of a float. Writes the scale if `writes` is true. Returns the factor by which
// the elements of the row are multiplied. Every thread of the block must call it.
__device__ inline float settle_scale(uint32_t magnitude, bool writes, float* scale) {
  uint32_t* partial = shared_array<ScalePartials, uint32_t, kMaxRowWarps>();
  const auto larger_of = [](uint32_t a, uint32_t b) { return max(a, b); };
  const float largest = __uint_as_float(
      max(row_reduce(magnitude, partial, larger_of), __float_as_uint(kFp8LeastMagnitude)));
  if (writes) *scale = __fdiv_rn(largest, kFp8Largest);
  return __fdiv_rn(kFp8Largest, largest);
}

// Quantizes a row in registers. Every thread of the block must call it. A thread without a row
// passes vectors = 0.
template <typename T, int kLanes>
__device__ void quantize(Row<T, kLanes>& row, int64_t vectors, const Fp8Row& to) {
  uint32_t magnitude = 0;
  row.each(vectors, [&](Lane<T>& lane, int64_t) { magnitude = larger(magnitude, lane); });
  const float inverse = settle_scale(magnitude, vectors > 0 && threadIdx.x == 0, to.scale);
  row.each(vectors,
           [&](Lane<T>& lane, int64_t element) { store_fp8(to.values + element, lane, inverse); });
}

// The largest row that quantize_shared() can keep in shared memory. A block has 48 KiB, and
// settle_scale() needs some of it.
constexpr int64_t kMostSharedBytes = 48 * 1024 - 1024;
constexpr int kSharedRowThreads = 256;

// Quantizes one row with one block. lane_at(element) returns 16 bytes of the row, from `element`
// on. The row, rounded to T, stays in shared memory until its scale is known.
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
  // The loop needs no barrier before it, because each thread reads only what it wrote itself.
  for (int64_t vector = threadIdx.x; vector < vectors; vector += blockDim.x)
    store_fp8(to.values + vector * kLane<T>, unpack<T>(waiting[vector]), inverse);
}

// The launch sizes of a kernel that calls quantize_shared().
struct SharedRowShape {
  unsigned threads = 0;  // threads of a block; 0: there is no code for this width
  size_t bytes = 0;      // shared memory of a block

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
