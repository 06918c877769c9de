// Pools the token vectors of each sequence into one float32 vector.
#include "launchers.h"
#include "vectors.cuh"

namespace encode::cuda {
namespace {

// One block pools kColumns pieces of 16 bytes of each token of one sequence. The threads with
// threadIdx.y = r add up (or take the maximum of) the pooled tokens r, r + kTokenRows, and so on.
// Then the threads with threadIdx.y = 0 combine the kTokenRows results. The order of a sum
// therefore depends only on the number of tokens.
constexpr int kColumns = 32;
constexpr int kTokenRows = 8;

// The tokens of a sequence. [first, last) are pooled. All three numbers are row numbers of
// EncodeCudaPool::hidden.
struct Range {
  int64_t begin;  // the first token of the sequence
  int64_t first;
  int64_t last;
};

__device__ Range range_of(const EncodeCudaPool& args, int64_t sequence) {
  const int64_t begin = args.cu_seqlens[sequence];
  const int64_t end = args.cu_seqlens[sequence + 1];
  const int64_t prompt = args.prompt_tokens < end - begin ? args.prompt_tokens : end - begin;
  if (begin == end) return {begin, begin, begin};
  switch (args.mode) {
    case PoolingMode::kLastToken:
      return {begin, end - 1, end};
    case PoolingMode::kCls: {
      const int64_t first = prompt < end - begin ? begin + prompt : end - 1;
      return {begin, first, first + 1};
    }
    case PoolingMode::kMean:
    case PoolingMode::kMax:
    case PoolingMode::kWeightedMean:
    case PoolingMode::kMeanSqrtLen:
    case PoolingMode::kNone:
      break;
  }
  return {begin, begin + prompt, end};
}

// Returns the number by which the sum of the tokens is divided.
__device__ float divisor_of(const EncodeCudaPool& args, const Range& range) {
  const auto count = static_cast<float>(range.last - range.first);
  switch (args.mode) {
    case PoolingMode::kMean:
      return count;
    case PoolingMode::kMeanSqrtLen:
      return sqrtf(count);
    case PoolingMode::kWeightedMean: {
      // The sum of the positions in [first, last), counted from 1.
      const int64_t n = range.last - range.begin;
      const int64_t skipped = range.first - range.begin;
      return static_cast<float>((n * (n + 1) - skipped * (skipped + 1)) / 2);
    }
    case PoolingMode::kCls:
    case PoolingMode::kLastToken:
    case PoolingMode::kMax:
    case PoolingMode::kNone:
      break;
  }
  return 1;
}

template <bool kMax, typename T>
__device__ void join(Lane<T>& into, const Lane<T>& value, float weight) {
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) {
    const float x = value.values[j];
    if constexpr (kMax) {
      // Does not use fmaxf(), because it would lose a NaN.
      into.values[j] = (x > into.values[j] || x != x) ? x : into.values[j];
    } else {
      into.values[j] += weight * x;
    }
  }
}

struct PoolPartials;  // Names the shared memory of pool_kernel().

template <bool kMax, typename T>
__global__ void __launch_bounds__(kColumns* kTokenRows) pool_kernel(const EncodeCudaPool args) {
  wait_for_earlier_kernels();
  using TokenRow = Lane<T>[kColumns];
  TokenRow* partial = shared_array<PoolPartials, TokenRow, kTokenRows>();
  const int64_t sequence = blockIdx.x;
  const int64_t column = (static_cast<int64_t>(blockIdx.y) * kColumns + threadIdx.x) * kLane<T>;
  const bool inside = column < args.width;
  const Range range = range_of(args, sequence);
  Lane<T> own;
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) own.values[j] = kMax ? -INFINITY : 0.0f;
  if (inside) {
    const T* hidden = static_cast<const T*>(args.hidden) + column;
    const bool weighted = args.mode == PoolingMode::kWeightedMean;
#pragma unroll 4
    for (int64_t token = range.first + threadIdx.y; token < range.last; token += kTokenRows) {
      const float weight = weighted ? static_cast<float>(token - range.begin + 1) : 1.0f;
      join<kMax>(own, load(hidden + token * args.width), weight);
    }
  }
  partial[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0 || !inside) return;
  for (int row = 1; row < kTokenRows; ++row) join<kMax>(own, partial[row][threadIdx.x], 1.0f);
  const bool empty = range.first == range.last;
  const float divisor = divisor_of(args, range);
  float* y = args.y + sequence * args.y_stride + column;
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) y[j] = empty ? 0.0f : own.values[j] / divisor;
}

}  // namespace

int pool(const EncodeCudaPool* args) {
  if (args->mode == PoolingMode::kNone) return kEncodeCudaUnsupported;
  const int lane = lane_of(args->type);
  const int64_t column_blocks = (args->width / lane + kColumns - 1) / kColumns;
  constexpr int64_t kMaxColumnBlocks = 65535;  // limit of the second dimension of a grid
  if (args->width % lane != 0 || args->sequences > kMaxBlocks || column_blocks > kMaxColumnBlocks ||
      !all_aligned(args->hidden)) {
    return kEncodeCudaUnsupported;
  }
  if (args->sequences == 0 || args->width == 0) return 0;
  return launch_for(args->type, [&](auto type) {
    const LaunchShape shape = {
        dim3(static_cast<unsigned>(args->sequences), static_cast<unsigned>(column_blocks)),
        dim3(kColumns, kTokenRows)};
    return args->mode == PoolingMode::kMax
               ? launch(pool_kernel<true, decltype(type)>, shape, args->stream, *args)
               : launch(pool_kernel<false, decltype(type)>, shape, args->stream, *args);
  });
}

}  // namespace encode::cuda
