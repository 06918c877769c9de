// Parts of the kernels in which a group of warps keeps one row in registers: the shape of the
// launch, sums over a row, and the two normalizations. A vector is 16 bytes of a row.
#pragma once

#include <type_traits>

#include "vectors.cuh"

namespace encode::cuda {

constexpr int kMaxRowThreads = 512;
constexpr int kMaxRowWarps = kMaxRowThreads / kWarpThreads;
// The number of vectors that one thread keeps if the row is wide. If the row is not wide, a thread
// keeps one vector.
constexpr int kMostLanes = 4;
// If the rows are narrow, a block gets several rows, and has about this number of threads.
constexpr int kWishedBlockThreads = 128;

// How the rows of a block are divided among its threads. The division, and therefore the order of
// every sum, depends only on the type and the width of a row.
struct RowShape {
  int threads = 0;      // threads of one row, a multiple of kWarpThreads; 0: the row is too wide
  int rows = 1;         // rows of one block
  int lanes = 0;        // vectors that one thread keeps: 1 or kMostLanes
  int64_t vectors = 0;  // vectors of one row

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

// Calls launch(std::integral_constant<int, lanes>{}), because the kernels need `lanes` as a
// template argument.
template <typename Launch>
int with_lanes(int lanes, const Launch& launch) {
  if (lanes == 1) return launch(std::integral_constant<int, 1>{});
  return launch(std::integral_constant<int, kMostLanes>{});
}

// Combines the values of all threads of a row, which have the same threadIdx.y. Each of these
// threads gets the result. Every thread of the block must call it. `partial` [kMaxRowWarps] is
// shared memory, with one element for each warp.
template <typename Value, typename Combine>
__device__ Value row_reduce(Value value, Value* partial, const Combine& combine) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  const int warps = static_cast<int>(blockDim.x) / kWarpThreads;
  if (warps == 1) return value;
  Value* own = partial + threadIdx.y * warps;
  __syncthreads();  // Another thread may still read the partial values of the previous call.
  if (threadIdx.x % kWarpThreads == 0) own[threadIdx.x / kWarpThreads] = value;
  __syncthreads();
  Value all = own[0];
  for (int warp = 1; warp < warps; ++warp) all = combine(all, own[warp]);
  return all;
}

// The part of a row that this thread keeps in registers: the vectors threadIdx.x,
// threadIdx.x + blockDim.x, and so on.
template <typename T, int kLanes>
struct Row {
  Lane<T> lanes[kLanes];

  // Calls body(lane, index of its first element) for each of this thread's lanes that is inside the
  // row.
  template <typename Body>
  __device__ void each(int64_t vectors, const Body& body) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const int64_t vector = threadIdx.x + static_cast<int64_t>(i) * blockDim.x;
      if (vector < vectors) body(lanes[i], vector * kLane<T>);
    }
  }

  // Returns the sum of f(element) over the whole row. Every thread of the block must call it.
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

struct NormWeights {
  const void* weight;
  const void* bias;  // null: no bias
  bool is_float;     // true: weight and bias are float32; false: they have the type of the rows

  template <typename T>
  __device__ Lane<T> read(const void* from, int64_t element) const {
    if (is_float) return load_floats<T>(static_cast<const float*>(from) + element);
    return load(static_cast<const T*>(from) + element);
  }
};

struct NormPartials;  // Names the shared memory of normalize().

// Normalizes a row in place: layer normalization (Ba et al. 2016) if kCentered, else root mean
// square normalization (Zhang & Sennrich 2019). Every thread of the block must call it. A thread
// without a row passes vectors = 0.
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
