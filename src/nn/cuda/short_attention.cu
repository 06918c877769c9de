// Attention over short sequences on the tensor cores. LibTorch's FlashAttention-2 computes tiles of
// 128 queries and 64 to 128 keys, most of which are empty if a sequence has 30 tokens. Here a warp
// computes one head of 16 queries, and all scores of these queries fit into its registers, so that
// the softmax is exact and takes one pass. Queries, keys and values go from device memory straight
// into registers, 16 bytes at a time, and shared memory is not needed.
#include "launchers.h"
#include "vectors.cuh"
#include "warp_matrix.cuh"

namespace encode::cuda {
namespace {

constexpr int kWarps = 4;  // of a block
constexpr int kTileQueries = 16;
constexpr int kTileKeys = 16;
// The numbers of a head that the four threads of a group load at a time, 8 each.
constexpr int kPiece = 32;
constexpr float kLog2E = 1.4426950408889634f;

// The least number of blocks that a multiprocessor holds at a time. It limits the registers of a
// thread, and is the largest number with which no architecture spills registers.
template <int kPieces, int kTiles>
constexpr int kBlocks = kPieces == 1   ? (kTiles <= 2 ? 6 : 4)
                        : kPieces == 2 ? (kTiles <= 2 ? 4 : 3)
                                       : 3;

// What a warp computes, and the thread's place in it (warp_matrix.cuh).
struct Task {
  int64_t begin;  // the first token of the sequence
  int length;     // its tokens
  int head;
  int first_query;  // counted from `begin`
  int group;
  int place;
};

// Rows of one head of a sequence in device memory.
template <typename T>
struct HeadRows {
  const T* first;
  int64_t stride;
  int length;

  // Returns 8 numbers of a row. Rows beyond the end of the sequence are zero: they are multiplied
  // by a weight of 0, and a NaN there would spoil the sum.
  __device__ uint4 load(int row, int element) const {
    if (row >= length) return {0, 0, 0, 0};
    return *reinterpret_cast<const uint4*>(first + row * stride + element);
  }
};

template <typename T>
__device__ HeadRows<T> rows_of(const void* projection, int64_t stride, int64_t first_element,
                               const Task& task) {
  return {static_cast<const T*>(projection) + task.begin * stride + first_element, stride,
          task.length};
}

template <typename T>
__device__ uint32_t pair_of(float first, float second) {
  const T values[2] = {narrow<T>(first), narrow<T>(second)};
  uint32_t bits = 0;
  memcpy(&bits, values, sizeof bits);
  return bits;
}

// Computes q k for kTiles x kTileKeys keys: scores[n] is the product with the keys 8n to 8n + 7.
// The four threads of a group hold a row of a piece in another order than multiply_add() names its
// columns. The order is the same for queries and keys, so the sums have the same terms.
template <typename T, int kPieces, int kTiles>
__device__ void multiply(const HeadRows<T>& queries, const HeadRows<T>& keys, const Task& task,
                         float (&scores)[2 * kTiles][4]) {
  const int query = task.first_query + task.group;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int element = piece * kPiece + task.place * kLane<T>;
    const uint4 low = queries.load(query, element);
    const uint4 high = queries.load(query + 8, element);
#pragma unroll
    for (int n = 0; n < 2 * kTiles; ++n) {
      const uint4 key = keys.load(8 * n + task.group, element);
      multiply_add<T>(scores[n], {low.x, high.x, low.y, high.y}, {key.x, key.y});
      multiply_add<T>(scores[n], {low.z, high.z, low.w, high.w}, {key.z, key.w});
    }
  }
}

// Combine the values of the four threads of a group.
__device__ float largest_of_group(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ float sum_of_group(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Replaces the scores of query `half` (0: row `group`, 1: row `group` + 8) by weights relative to
// the largest score, and returns their sum.
template <int kTiles>
__device__ float weigh(const EncodeCudaAttention& args, const Task& task, int half,
                       float (&scores)[2 * kTiles][4]) {
  const int64_t query = task.first_query + task.group + 8 * half;
  const int64_t first = args.left < 0 ? 0 : query - args.left;
  const int64_t last = args.right < 0 ? task.length : query + args.right;
  float largest = -INFINITY;
#pragma unroll
  for (int n = 0; n < 2 * kTiles; ++n) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i) {
      const int key = 8 * n + 2 * task.place + i % 2;
      if (key >= task.length || key < first || key > last) scores[n][i] = -INFINITY;
      largest = fmaxf(largest, scores[n][i]);
    }
  }
  largest = largest_of_group(largest);
  const float scale = args.scale * kLog2E;
  // A query beyond the end of the sequence sees no key if there is a window.
  const float base = largest == -INFINITY ? 0.0f : largest * scale;
  float sum = 0;
#pragma unroll
  for (int n = 0; n < 2 * kTiles; ++n) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i) {
      scores[n][i] = exp2f(fmaf(scores[n][i], scale, -base));
      sum += scores[n][i];
    }
  }
  return sum_of_group(sum);
}

// Adds weights x values to the results. Of every 8 numbers in a piece, results[4 * piece + i] has
// the numbers 2i and 2i + 1.
template <typename T, int kPieces, int kTiles>
__device__ void add_values(const HeadRows<T>& values, const Task& task,
                           const float (&weights)[2 * kTiles][4],
                           float (&results)[4 * kPieces][4]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const float(&low)[4] = weights[2 * tile];
    const float(&high)[4] = weights[2 * tile + 1];
    const uint32_t a[4] = {pair_of<T>(low[0], low[1]), pair_of<T>(low[2], low[3]),
                           pair_of<T>(high[0], high[1]), pair_of<T>(high[2], high[3])};
    const int key = tile * kTileKeys + task.group;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int element = piece * kPiece + task.place * kLane<T>;
      const uint4 first = values.load(key, element);
      const uint4 second = values.load(key + 8, element);
      float(*result)[4] = results + 4 * piece;
      multiply_add<T>(result[0], a, {transposed(first.x), transposed(second.x)});
      multiply_add<T>(result[1], a, {transposed(first.y), transposed(second.y)});
      multiply_add<T>(result[2], a, {transposed(first.z), transposed(second.z)});
      multiply_add<T>(result[3], a, {transposed(first.w), transposed(second.w)});
    }
  }
}

// Stores the results of the queries 0 and 1, as weigh() numbers them.
template <typename T, int kPieces>
__device__ void store_results(const EncodeCudaAttention& args, const Task& task,
                              const float (&sums)[2], const float (&results)[4 * kPieces][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = task.first_query + task.group + 8 * half;
    if (query >= task.length) continue;
    T* y = static_cast<T*>(args.y) +
           ((task.begin + query) * args.heads + task.head) * args.head_dim + task.place * kLane<T>;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      Lane<T> lane;
#pragma unroll
      for (int i = 0; i < kLane<T>; ++i)
        lane.values[i] = results[4 * piece + i / 2][2 * half + i % 2] / sums[half];
      store(y + piece * kPiece, lane);
    }
  }
}

// Computes a task of a sequence with at most kTiles x kTileKeys tokens. Tiles beyond the sequence
// add weights of 0, so a result does not depend on kTiles.
template <typename T, int kPieces, int kTiles>
__device__ void attend(const EncodeCudaAttention& args, const Task& task) {
  const int key_head = task.head / static_cast<int>(args.heads / args.key_heads);
  const auto queries = rows_of<T>(args.query, args.query_stride, task.head * args.head_dim, task);
  const auto keys = rows_of<T>(args.key, args.key_stride, key_head * args.head_dim, task);
  const auto values = rows_of<T>(args.value, args.value_stride, key_head * args.head_dim, task);
  float scores[2 * kTiles][4] = {};
  multiply<T, kPieces, kTiles>(queries, keys, task, scores);
  const float sums[2] = {weigh<kTiles>(args, task, 0, scores),
                         weigh<kTiles>(args, task, 1, scores)};
  float results[4 * kPieces][4] = {};
  add_values<T, kPieces, kTiles>(values, task, scores, results);
  store_results<T, kPieces>(args, task, sums, results);
}

// Block (b, i) computes the tasks i * kWarps to (i + 1) * kWarps - 1 of sequence b, if it has at
// most kTiles x kTileKeys tokens. The tasks of a head have consecutive numbers, so that its
// keys and values stay in the cache of a multiprocessor.
template <typename T, int kPieces, int kTiles>
__global__ void __launch_bounds__(kWarps* kWarpThreads, kBlocks<kPieces, kTiles>)
    short_attention_kernel(const EncodeCudaAttention args) {
  wait_for_earlier_kernels();
  const int64_t begin = args.cu_seqlens[blockIdx.x];
  const int64_t length = args.cu_seqlens[blockIdx.x + 1] - begin;
  if (length > kTiles * kTileKeys) return;
  const int tiles = (static_cast<int>(length) + kTileQueries - 1) / kTileQueries;
  const int number = static_cast<int>(blockIdx.y) * kWarps + static_cast<int>(threadIdx.y);
  if (number >= tiles * args.heads) return;
  const int lane = static_cast<int>(threadIdx.x);
  const Task task = {begin,          static_cast<int>(length),
                     number / tiles, number % tiles * kTileQueries,
                     lane / 4,       lane % 4};
  if (kTiles > 1 && tiles <= kTiles / 2) return attend<T, kPieces, (kTiles + 1) / 2>(args, task);
  attend<T, kPieces, kTiles>(args, task);
}

bool is_supported(const EncodeCudaAttention& args) {
  constexpr int64_t kStep = kLane<__half>;
  return args.type != kEncodeCudaFloat32 && args.softcap == 0 && args.column == nullptr &&
         args.scale > 0 && args.query_stride % kStep == 0 && args.key_stride % kStep == 0 &&
         args.value_stride % kStep == 0 && args.sequences <= kMaxBlocks &&
         all_aligned(args.query, args.key, args.value, args.y);
}

template <typename T, int kPieces, int kTiles>
int launch_tiles(const EncodeCudaAttention& args) {
  const auto kernel = short_attention_kernel<T, kPieces, kTiles>;
  if (!has_tensor_cores(reinterpret_cast<const void*>(kernel))) return kEncodeCudaUnsupported;
  const int64_t tiles = (args.max_seqlen + kTileQueries - 1) / kTileQueries;
  const int64_t tasks = args.heads * (tiles < kTiles ? tiles : kTiles);
  const int64_t blocks = (tasks + kWarps - 1) / kWarps;
  constexpr int64_t kMaxPlaces = 65535;  // the limit of the second dimension of a grid
  if (blocks > kMaxPlaces) return kEncodeCudaUnsupported;
  if (args.sequences == 0 || blocks == 0) return 0;
  const LaunchShape shape = {
      dim3(static_cast<unsigned>(args.sequences), static_cast<unsigned>(blocks)),
      dim3(kWarpThreads, kWarps)};
  return launch(kernel, shape, args.stream, args);
}

template <typename T, int kPieces>
int launch_heads(const EncodeCudaAttention& args) {
  constexpr int kMaxTiles =
      static_cast<int>(encode_cuda_short_tokens(kPieces * kPiece)) / kTileKeys;
  if (args.max_seqlen <= kTileKeys) return launch_tiles<T, kPieces, 1>(args);
  if (args.max_seqlen <= 2 * kTileKeys) return launch_tiles<T, kPieces, 2>(args);
  return launch_tiles<T, kPieces, kMaxTiles>(args);
}

template <typename T>
int launch_type(const EncodeCudaAttention& args) {
  if (args.head_dim == kPiece) return launch_heads<T, 1>(args);
  if (args.head_dim == 2 * kPiece) return launch_heads<T, 2>(args);
  if (args.head_dim == 4 * kPiece) return launch_heads<T, 4>(args);
  return kEncodeCudaUnsupported;
}

}  // namespace

int short_attention(const EncodeCudaAttention* args) {
  if (!is_supported(*args)) return kEncodeCudaUnsupported;
  return args->type == kEncodeCudaFloat16 ? launch_type<__half>(*args)
                                          : launch_type<__nv_bfloat16>(*args);
}

}  // namespace encode::cuda
