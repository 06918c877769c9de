// Rotary position embedding (RoFormer, Su et al. 2021), in place on the fused projection. The two
// elements of a pair are half a head apart.
#include "launchers.h"
#include "vectors.cuh"

namespace encode::cuda {
namespace {

constexpr int kThreads = 128;

// One block rotates one token. In each iteration a thread rotates the same 16 bytes of both halves
// of a head.
template <typename T>
__global__ void __launch_bounds__(kThreads) rotary_kernel(const EncodeCudaRotary args) {
  wait_for_earlier_kernels();
  const int half = static_cast<int>(args.head_dim) / 2;
  const int vectors = half / kLane<T>;
  const int items = static_cast<int>(args.heads) * vectors;
  const int64_t token = blockIdx.x;
  T* row = static_cast<T*>(args.qkv) + token * args.token_stride;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += kThreads) {
    const int element = item % vectors * kLane<T>;
    T* head = row + static_cast<int64_t>(item / vectors) * args.head_dim;
    const Lane<T> cos = load_floats<T>(args.cos + token * half + element);
    const Lane<T> sin = load_floats<T>(args.sin + token * half + element);
    Lane<T> first = load(head + element);
    Lane<T> second = load(head + half + element);
#pragma unroll
    for (int j = 0; j < kLane<T>; ++j) {
      const float a = first.values[j];
      const float b = second.values[j];
      first.values[j] = a * cos.values[j] - b * sin.values[j];
      second.values[j] = b * cos.values[j] + a * sin.values[j];
    }
    store(head + element, first);
    store(head + half + element, second);
  }
}

}  // namespace

int rotary(const EncodeCudaRotary* args) {
  const int lane = lane_of(args->type);
  if (args->head_dim % (2 * lane) != 0 || args->token_stride % lane != 0 ||
      args->heads * args->head_dim > INT32_MAX || args->tokens > kMaxBlocks ||
      !all_aligned(args->qkv, args->cos, args->sin)) {
    return kEncodeCudaUnsupported;
  }
  if (args->tokens == 0 || args->heads == 0) return 0;
  return launch_for(args->type, [&](auto type) {
    return launch(rotary_kernel<decltype(type)>, {static_cast<unsigned>(args->tokens), kThreads},
                  args->stream, *args);
  });
}

}  // namespace encode::cuda
