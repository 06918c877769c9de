// One row a group of warps, kept in registers: the shape of a launch, sums over a row, and the two
// norms.
#pragma once

#include <type_traits>

#include "vectors.cuh"

namespace encode::cuda {

constexpr int kMaxRowThreads = 512;
constexpr int kMaxRowWarps = kMaxRowThreads / kWarpThreads;
// Vectors that one thread keeps of a row for which one each is not enough.
constexpr int kMostLanes = 4;
// Narrow rows share a block, so that a block is never much smaller than this.
constexpr int kWishedBlockThreads = 128;

// How a row of `width` elements is cut up. It depends on the width alone, and the order of every
// sum with it.
struct RowShape {
  int threads = 0;      // of one row, a multiple of a warp; 0: the row is too wide
  int rows = 1;         // of one block
  int lanes = 0;        // vectors that one thread keeps: 1, or kMostLanes
  int64_t vectors = 0;  // of a row

  dim3 block() const { return {static_cast<unsigned>(threads), static_cast<unsigned>(rows)}; }
};

inline RowShape shape_of(int64_t width, EncodeCudaType type) {
  RowShape shape;
  shape.vectors = width / lane_of(type);
  for (const int lanes : {1, kMostLanes}) {
    if (shape.vectors > int64_t{lanes} * kMaxRowThreads) continue;
    const int64_t threads = (shape.vectors + lanes - 1) / lanes;
    shape.threads = static_cast<int>((threads + kWarpThreads - 1) / kWarpThreads * kWarpThreads);
    shape.lanes = lanes;
    if (shape.threads < kWishedBlockThreads) shape.rows = kWishedBlockThreads / shape.threads;
    break;
  }
  return shape;
}

// Returns launch() of RowShape::lanes as a constant.
template <typename Launch>
int with_lanes(int lanes, const Launch& launch) {
  if (lanes == 1) return launch(std::integral_constant<int, 1>{});
  return launch(std::integral_constant<int, kMostLanes>{});
}

// The values of the threads of this thread's row (all threadIdx.x of one threadIdx.y) combined, in
// every one of them. Every thread of the block must call it. `partial` [kMaxRowWarps] is shared
// memory: a block has no more warps than that, whether they work on one row or on several.
template <typename Value, typename Combine>
__device__ Value row_reduce(Value value, Value* partial, const Combine& combine) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  const int warps = static_cast<int>(blockDim.x) / kWarpThreads;
  if (warps == 1) return value;
  Value* own = partial + threadIdx.y * warps;
  __syncthreads();  // the partial values before these have been read
  if (threadIdx.x % kWarpThreads == 0) own[threadIdx.x / kWarpThreads] = value;
  __syncthreads();
  Value all = own[0];
  for (int warp = 1; warp < warps; ++warp) all = combine(all, own[warp]);
  return all;
}

// A row in registers: this thread has the vectors threadIdx.x, threadIdx.x + blockDim.x, ...
template <typename T, int kLanes>
struct Row {
  Lane<T> lanes[kLanes];

  // Calls body(lane, first element of it) for the lanes that lie inside the row.
  template <typename Body>
  __device__ void each(int64_t vectors, const Body& body) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const int64_t vector = threadIdx.x + static_cast<int64_t>(i) * blockDim.x;
      if (vector < vectors) body(lanes[i], vector * kLane<T>);
    }
  }

  // The sum of f(element), over the whole row.
  template <typename Function>
  __device__ float sum(int64_t vectors, float* partial, const Function& f) {
    float own = 0;
    each(vectors, [&](Lane<T>& lane, int64_t) {
#pragma unroll
      for (int j = 0; j < kLane<T>; ++j) own += f(lane.values[j]);
    });
    return row_reduce(own, partial, [](float a, float b) { return a + b; });
  }
};

// Weights of a norm, in the rows' type or in float32.
struct NormWeights {
  const void* weight;
  const void* bias;  // null: none
  bool is_float;

  template <typename T>
  __device__ Lane<T> read(const void* from, int64_t element) const {
    if (is_float) return load_floats<T>(static_cast<const float*>(from) + element);
    return load(static_cast<const T*>(from) + element);
  }
};

struct NormPartials;  // names the shared memory of normalize()

// row = norm(row). kCentered: layer normalization (Ba et al. 2016); else root mean square
// normalization (Zhang & Sennrich 2019). Every thread of the block must call it; `vectors` 0 for a
// thread without a row.
template <bool kCentered, typename T, int kLanes>
__device__ void normalize(Row<T, kLanes>& row, int64_t vectors, const NormWeights& weights,
                          float eps) {
  float* partial = shared_array<NormPartials, float, kMaxRowWarps>();
  const float count = static_cast<float>(vectors * kLane<T>);
  float mean = 0;
  if constexpr (kCentered) {
    mean = row.sum(vectors, partial, [](float x) { return x; }) / count;
  }
  const float squares =
      row.sum(vectors, partial, [mean](float x) { return (x - mean) * (x - mean); });
  const float scale = rsqrtf(squares / count + eps);
  row.each(vectors, [&](Lane<T>& lane, int64_t element) {
    const Lane<T> weight = weights.template read<T>(weights.weight, element);
#pragma unroll
    for (int j = 0; j < kLane<T>; ++j)
      lane.values[j] = (lane.values[j] - mean) * scale * weight.values[j];
    if (weights.bias == nullptr) return;
    const Lane<T> bias = weights.template read<T>(weights.bias, element);
#pragma unroll
    for (int j = 0; j < kLane<T>; ++j) lane.values[j] += bias.values[j];
  });
}

}  // namespace encode::cuda
