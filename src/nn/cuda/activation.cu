// The activation functions, alone and as the gate of a gated linear unit (Shazeer 2020).
#include "launchers.h"
#include "quantize.cuh"
#include "vectors.cuh"

namespace encode::cuda {
namespace {

constexpr int kThreads = 256;

template <EncodeCudaActivation kKind>
__device__ float activated(float x) {
  if constexpr (kKind == kEncodeCudaGelu) {
    constexpr float kSqrtHalf = 0.70710678118654752440f;
    return 0.5f * x * (1.0f + erff(x * kSqrtHalf));
  } else if constexpr (kKind == kEncodeCudaGeluTanh) {
    constexpr float kSqrtTwoOverPi = 0.79788456080286535588f;
    return 0.5f * x * (1.0f + tanhf(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
  } else if constexpr (kKind == kEncodeCudaRelu) {
    return x < 0.0f ? 0.0f : x;  // A NaN stays NaN.
  } else {
    return x / (1.0f + expf(-x));
  }
}

// Returns 16 bytes of the result row, from `element` on. `in` is the row of x.
template <EncodeCudaActivation kKind, bool kGated, typename T>
__device__ Lane<T> activated_lane(const T* in, int64_t width, int64_t element) {
  Lane<T> lane = load(in + element);
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) lane.values[j] = activated<kKind>(lane.values[j]);
  if constexpr (kGated) {
    const Lane<T> up = load(in + width + element);
#pragma unroll
    for (int j = 0; j < kLane<T>; ++j) lane.values[j] *= up.values[j];
  }
  return lane;
}

// One block computes one row.
template <EncodeCudaActivation kKind, bool kGated, typename T>
__global__ void __launch_bounds__(kThreads) activation_kernel(const EncodeCudaElementwise args) {
  wait_for_earlier_kernels();
  const int64_t row = blockIdx.x;
  const T* in = static_cast<const T*>(args.x) + row * args.width * (kGated ? 2 : 1);
  T* out = static_cast<T*>(args.y) + row * args.width;
  const int64_t step = static_cast<int64_t>(blockDim.x) * kLane<T>;
  for (int64_t element = static_cast<int64_t>(threadIdx.x) * kLane<T>; element < args.width;
       element += step) {
    store(out + element, activated_lane<kKind, kGated>(in, args.width, element));
  }
}

// Computes the activation and quantizes the result. One block computes one row.
template <EncodeCudaActivation kKind, bool kGated, typename T>
__global__ void __launch_bounds__(kSharedRowThreads)
    fp8_activation_kernel(const EncodeCudaElementwise args) {
  wait_for_earlier_kernels();
  const int64_t index = blockIdx.x;
  const T* in = static_cast<const T*>(args.x) + index * args.width * (kGated ? 2 : 1);
  quantize_shared<T>(
      args.width,
      [&](int64_t element) { return activated_lane<kKind, kGated>(in, args.width, element); },
      {args.fp8, index, args.width});
}

template <EncodeCudaActivation kKind, bool kGated>
int launch_fp8(const EncodeCudaElementwise& args) {
  const SharedRowShape shape(args.width, args.type);
  if (!takes_fp8(args.type, args.width) || shape.threads == 0) return kEncodeCudaUnsupported;
  return launch(fp8_activation_kernel<kKind, kGated, __nv_bfloat16>,
                {static_cast<unsigned>(args.rows), shape.threads, shape.bytes}, args.stream, args);
}

template <EncodeCudaActivation kKind, bool kGated>
int launch_kind(const EncodeCudaElementwise& args) {
  if (args.fp8.values != nullptr) return launch_fp8<kKind, kGated>(args);
  const int64_t vectors = args.width / lane_of(args.type);
  const int64_t warps = (vectors + kWarpThreads - 1) / kWarpThreads;
  const auto threads = static_cast<unsigned>(warps * kWarpThreads < kThreads ? warps * kWarpThreads
                                                                             : int64_t{kThreads});
  return launch_for(args.type, [&](auto type) {
    return launch(activation_kernel<kKind, kGated, decltype(type)>,
                  {static_cast<unsigned>(args.rows), threads}, args.stream, args);
  });
}

template <bool kGated>
int launch_any(const EncodeCudaElementwise& args) {
  if (args.width % lane_of(args.type) != 0 || args.rows > kMaxBlocks ||
      !all_aligned(args.x, args.y, args.fp8.values)) {
    return kEncodeCudaUnsupported;
  }
  if (args.rows == 0 || args.width == 0) return 0;
  switch (args.activation) {
    case kEncodeCudaGelu:
      return launch_kind<kEncodeCudaGelu, kGated>(args);
    case kEncodeCudaGeluTanh:
      return launch_kind<kEncodeCudaGeluTanh, kGated>(args);
    case kEncodeCudaRelu:
      return launch_kind<kEncodeCudaRelu, kGated>(args);
    case kEncodeCudaSilu:
      return launch_kind<kEncodeCudaSilu, kGated>(args);
  }
  return kEncodeCudaUnsupported;
}

}  // namespace

int activation(const EncodeCudaElementwise* args) { return launch_any<false>(*args); }
int gated(const EncodeCudaElementwise* args) { return launch_any<true>(*args); }

}  // namespace encode::cuda
