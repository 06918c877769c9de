// Attention over packed sequences with two options that no fused kernel of LibTorch has: softcap,
// and the tables of_query and of_key (DeBERTa). The softmax takes one pass over the keys (Milakov &
// Gimelshein 2018; Dao et al. 2022).
#include "launchers.h"
#include "vectors.cuh"

namespace encode::cuda {
namespace {

// A tile is kTileKeys keys, or their values, in shared memory. All warps of a block share the tile.
// A warp computes kWarpQueries queries of one head. Thread i of the warp computes the scores of key
// i of the tile, and the numbers i, i + 32, ... of the result vectors.
constexpr int kWarpQueries = 4;
constexpr int kTileKeys = kWarpThreads;
constexpr int kMaxHeadDim = 256;
// The most numbers of a result vector that one thread computes.
constexpr int kMaxOwn = kMaxHeadDim / kWarpThreads;
// A launch can have this much shared memory for each block without a special request.
constexpr int64_t kMaxSharedBytes = 48 * 1024;

// The layout of shared memory: the queries of the block, then the tile, which first holds keys and
// then their values. A vector is 16 bytes. A row of the tile has one more vector than a head, so
// that the threads of a warp read from different banks.
struct SharedShape {
  int vectors;  // the number of vectors of a head
  int warps;

  __host__ __device__ int queries() const { return warps * kWarpQueries; }
  __host__ __device__ int tile_stride() const { return vectors + 1; }
  int64_t bytes() const {
    return static_cast<int64_t>(sizeof(uint4)) * (queries() * vectors + kTileKeys * tile_stride());
  }
};

// The part of the batch that a block computes.
struct Place {
  int64_t begin;   // first token of the sequence
  int64_t length;  // the number of tokens of the sequence
  int64_t head;
  int64_t first_query;  // the block's first query, counted from `begin`
};

__device__ float warp_max(float x) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

__device__ float warp_sum(float x) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

// Rows of one head in device memory, from one token on.
template <typename T>
struct HeadRows {
  const T* first;
  int64_t token_stride;
  int64_t count;  // the rows up to the end of the sequence
};

// Rows in shared memory.
struct SharedRows {
  uint4* first;
  int count;
  int stride;   // in vectors
  int vectors;  // of a row
};

// Copies rows of a head to shared memory. Rows beyond the end of the sequence become zero: they are
// multiplied by a weight of 0, and a NaN there would spoil the sum.
template <typename T>
__device__ void load_rows(const HeadRows<T>& from, const SharedRows& to) {
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int i = thread; i < to.count * to.vectors; i += threads) {
    const int row = i / to.vectors;
    const int vector = i % to.vectors;
    uint4 bits = {0, 0, 0, 0};
    if (row < from.count) {
      bits =
          *reinterpret_cast<const uint4*>(from.first + row * from.token_stride + vector * kLane<T>);
    }
    to.first[row * to.stride + vector] = bits;
  }
}

// Computes the dot products of this thread's key with the warp's queries.
template <typename T>
__device__ void multiply(const uint4* queries, const uint4* key, int vectors,
                         float (&score)[kWarpQueries]) {
#pragma unroll
  for (int q = 0; q < kWarpQueries; ++q) score[q] = 0;
  for (int vector = 0; vector < vectors; ++vector) {
    const Lane<T> k = unpack<T>(key[vector]);
#pragma unroll
    for (int q = 0; q < kWarpQueries; ++q) {
      const Lane<T> x = unpack<T>(queries[q * vectors + vector]);
#pragma unroll
      for (int j = 0; j < kLane<T>; ++j) score[q] = fmaf(x.values[j], k.values[j], score[q]);
    }
  }
}

// A query and a key of a sequence, by their positions in it.
struct Pair {
  int64_t query;
  int64_t key;
};

// Returns softcap(scale x (q k + of_query + of_key)) + bias, or -inf for a key that the query does
// not see. `score` is q k.
template <typename T>
__device__ float finish_score(const EncodeCudaAttention& args, const Place& place, const Pair& pair,
                              float score) {
  const auto [query, key] = pair;
  const int64_t distance = key - query;
  const bool hidden = key >= place.length || (args.left >= 0 && distance < -args.left) ||
                      (args.right >= 0 && distance > args.right);
  if (hidden || query >= place.length) return -INFINITY;
  int64_t column = 0;
  if (args.column != nullptr) {
    const int64_t near =
        distance < -args.reach ? -args.reach : (distance > args.reach ? args.reach : distance);
    column = args.column[near + args.reach];
  }
  const auto of_token = [&](const void* table, int64_t token) {
    const int64_t row = (place.begin + token) * args.heads + place.head;
    return widen(static_cast<const T*>(table)[row * args.columns + column]);
  };
  if (args.of_query != nullptr) score += of_token(args.of_query, query);
  if (args.of_key != nullptr) score += of_token(args.of_key, key);
  score *= args.scale;
  if (args.softcap > 0) score = tanhf(score / args.softcap) * args.softcap;
  if (args.bias != nullptr) score += args.bias[place.head * args.columns + column];
  return score;
}

// The softmax of one query over the keys so far, and the sum of the values by these weights. The
// weights are relative to the largest score so far.
struct Result {
  float largest = -INFINITY;
  float sum = 0;
  float values[kMaxOwn] = {};

  // Adds the scores of a tile to the softmax. `score` is the score of this thread's key; returns
  // the weight of this key.
  __device__ float weigh(float score) {
    const float now = fmaxf(largest, warp_max(score));
    const float base = now == -INFINITY ? 0.0f : now;  // -infinity if every key so far is hidden
    const float correction = expf(largest - base);
    const float weight = expf(score - base);
    sum = sum * correction + warp_sum(weight);
#pragma unroll
    for (int i = 0; i < kMaxOwn; ++i) values[i] *= correction;
    largest = now;
    return weight;
  }
};

template <typename T>
__device__ void add_values(const SharedRows& tile, int head_dim,
                           const float (&weight)[kWarpQueries], Result (&results)[kWarpQueries]) {
  const int lane = static_cast<int>(threadIdx.x);
  for (int key = 0; key < kTileKeys; ++key) {
    float of_key[kWarpQueries];
#pragma unroll
    for (int q = 0; q < kWarpQueries; ++q) of_key[q] = __shfl_sync(0xffffffffu, weight[q], key);
    const T* row = reinterpret_cast<const T*>(tile.first + key * tile.stride);
#pragma unroll
    for (int i = 0; i < kMaxOwn; ++i) {
      const int element = lane + i * kWarpThreads;
      if (element >= head_dim) break;
      const float value = widen(row[element]);
#pragma unroll
      for (int q = 0; q < kWarpQueries; ++q)
        results[q].values[i] = fmaf(of_key[q], value, results[q].values[i]);
    }
  }
}

template <typename T>
__device__ void store_result(const EncodeCudaAttention& args, const Place& place, int64_t query,
                             const Result& result) {
  if (query >= place.length) return;
  T* y =
      static_cast<T*>(args.y) + ((place.begin + query) * args.heads + place.head) * args.head_dim;
#pragma unroll
  for (int i = 0; i < kMaxOwn; ++i) {
    const int64_t element = threadIdx.x + static_cast<int64_t>(i) * kWarpThreads;
    if (element < args.head_dim) y[element] = narrow<T>(result.values[i] / result.sum);
  }
}

// The keys [first, last) that the queries of the block can see. `first` is a multiple of kTileKeys:
// tiles are counted from the start of the sequence, so the order of the sums of a query does not
// depend on its block.
struct KeyRange {
  int64_t first;
  int64_t last;
};

__device__ KeyRange keys_of(const EncodeCudaAttention& args, const Place& place, int queries) {
  KeyRange keys = {0, place.length};
  if (args.left >= 0 && place.first_query > args.left)
    keys.first = (place.first_query - args.left) / kTileKeys * kTileKeys;
  const int64_t last_seen = place.first_query + queries + args.right;
  if (args.right >= 0 && last_seen < keys.last) keys.last = last_seen;
  return keys;
}

template <typename T>
__global__ void __launch_bounds__(256) attention_kernel(const EncodeCudaAttention args) {
  wait_for_earlier_kernels();
  const SharedShape shape = {static_cast<int>(args.head_dim / kLane<T>),
                             static_cast<int>(blockDim.y)};
  const int64_t begin = args.cu_seqlens[blockIdx.x];
  const Place place = {begin, args.cu_seqlens[blockIdx.x + 1] - begin, blockIdx.y,
                       static_cast<int64_t>(blockIdx.z) * shape.queries()};
  if (place.first_query >= place.length) return;
  const int64_t key_head = place.head / (args.heads / args.key_heads);
  // The rows of a head of a projection, from `token` of the sequence on.
  const auto rows_of = [&](const void* projection, int64_t stride, int64_t head, int64_t token) {
    const T* first = static_cast<const T*>(projection) + (place.begin + token) * stride;
    return HeadRows<T>{first + head * args.head_dim, stride, place.length - token};
  };
  uint4* queries = dynamic_shared();
  const SharedRows tile = {queries + shape.queries() * shape.vectors, kTileKeys,
                           shape.tile_stride(), shape.vectors};
  load_rows(rows_of(args.query, args.query_stride, place.head, place.first_query),
            {queries, shape.queries(), shape.vectors, shape.vectors});
  const int own_query = static_cast<int>(threadIdx.y) * kWarpQueries;
  Result results[kWarpQueries];
  const KeyRange keys = keys_of(args, place, shape.queries());
  for (int64_t first = keys.first; first < keys.last; first += kTileKeys) {
    __syncthreads();  // waits until all warps have read the previous values
    load_rows(rows_of(args.key, args.key_stride, key_head, first), tile);
    __syncthreads();
    float weight[kWarpQueries];
    multiply<T>(queries + own_query * shape.vectors, tile.first + threadIdx.x * tile.stride,
                shape.vectors, weight);
#pragma unroll
    for (int q = 0; q < kWarpQueries; ++q) {
      const Pair pair = {place.first_query + own_query + q, first + threadIdx.x};
      weight[q] = results[q].weigh(finish_score<T>(args, place, pair, weight[q]));
    }
    __syncthreads();  // waits until all warps have read the keys
    load_rows(rows_of(args.value, args.value_stride, key_head, first), tile);
    __syncthreads();
    add_values<T>(tile, static_cast<int>(args.head_dim), weight, results);
  }
#pragma unroll
  for (int q = 0; q < kWarpQueries; ++q)
    store_result<T>(args, place, place.first_query + own_query + q, results[q]);
}

bool is_supported(const EncodeCudaAttention& args) {
  const int lane = lane_of(args.type);
  return args.head_dim % lane == 0 && args.head_dim <= kMaxHeadDim &&
         args.query_stride % lane == 0 && args.key_stride % lane == 0 &&
         args.value_stride % lane == 0 && args.sequences <= kMaxBlocks &&
         all_aligned(args.query, args.key, args.value);
}

// Returns the shape with the largest number of warps, up to 8, that fits into kMaxSharedBytes.
SharedShape shape_for(const EncodeCudaAttention& args) {
  SharedShape shape = {static_cast<int>(args.head_dim / lane_of(args.type)), 8};
  while (shape.warps > 1 && shape.bytes() > kMaxSharedBytes) shape.warps /= 2;
  return shape;
}

}  // namespace

int attention(const EncodeCudaAttention* args) {
  constexpr int64_t kMaxPlaces = 65535;  // the limit of the second and third dimension of a grid
  if (!is_supported(*args)) return kEncodeCudaUnsupported;
  const SharedShape shape = shape_for(*args);
  const int64_t tiles = (args->max_seqlen + shape.queries() - 1) / shape.queries();
  if (tiles > kMaxPlaces || args->heads > kMaxPlaces) return kEncodeCudaUnsupported;
  if (args->sequences == 0 || tiles == 0) return 0;
  return launch_for(args->type, [&](auto type) {
    const LaunchShape launch_shape = {
        dim3(static_cast<unsigned>(args->sequences), static_cast<unsigned>(args->heads),
             static_cast<unsigned>(tiles)),
        dim3(kWarpThreads, static_cast<unsigned>(shape.warps)), static_cast<size_t>(shape.bytes())};
    return launch(attention_kernel<decltype(type)>, launch_shape, args->stream, *args);
  });
}

}  // namespace encode::cuda
