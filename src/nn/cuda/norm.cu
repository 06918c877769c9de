// The norm kernels. They add a residual and normalize in one pass over memory.
#include "launchers.h"
#include "quantize.cuh"
#include "rows.cuh"

namespace encode::cuda {
namespace {

template <bool kCentered, bool kFp8, typename T, int kLanes>
__global__ void __launch_bounds__(kMaxRowThreads)
    norm_kernel(const EncodeCudaNorm args, const int64_t row_vectors) {
  wait_for_earlier_kernels();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // A thread without a row goes on with 0 vectors, because the other threads wait for it at the
  // barriers.
  const int64_t vectors = index < args.rows ? row_vectors : 0;
  const int64_t begin = args.inner_rows == 1 ? index * args.outer_stride
                                             : index / args.inner_rows * args.outer_stride +
                                                   index % args.inner_rows * args.inner_stride;
  Row<T, kLanes> row;
  row.each(vectors, [&](Lane<T>& lane, int64_t element) {
    lane = load(static_cast<const T*>(args.x) + begin + element);
    if (args.residual == nullptr) return;
    const Lane<T> residual = load(static_cast<const T*>(args.residual) + begin + element);
    // The sum is rounded before it is normalized. The norm and the next residual addition then read
    // the same numbers.
#pragma unroll
    for (int j = 0; j < kLane<T>; ++j)
      lane.values[j] = widen(narrow<T>(lane.values[j] + residual.values[j]));
    if (args.sum != nullptr) store(static_cast<T*>(args.sum) + begin + element, lane);
  });
  const NormWeights weights = {args.weight, args.bias, args.weight_type == kEncodeCudaFloat32};
  normalize<kCentered>(row, vectors, weights, args.eps);
  row.each(vectors, [&](Lane<T>& lane, int64_t element) {
    if (!kFp8 || args.y != nullptr) store(static_cast<T*>(args.y) + begin + element, lane);
    if constexpr (kFp8) round_lane(lane);
  });
  if constexpr (kFp8) quantize(row, vectors, {args.fp8, index, args.width});
}

template <bool kCentered, bool kFp8, typename T>
int launch_rows(const EncodeCudaNorm& args, const RowShape& shape, int64_t blocks) {
  return with_lanes(shape.lanes, [&](auto lanes) {
    return launch(norm_kernel<kCentered, kFp8, T, lanes()>,
                  {static_cast<unsigned>(blocks), shape.block()}, args.stream, args, shape.vectors);
  });
}

template <bool kCentered>
int launch_any(const EncodeCudaNorm& args) {
  const int lane = lane_of(args.type);
  const RowShape shape = shape_of(args.width, args.type);
  const int64_t blocks = (args.rows + shape.rows - 1) / shape.rows;
  if (args.width % lane != 0 || args.outer_stride % lane != 0 || args.inner_stride % lane != 0 ||
      shape.threads == 0 || blocks > kMaxBlocks ||
      !all_aligned(args.x, args.residual, args.sum, args.weight, args.bias, args.y,
                   args.fp8.values) ||
      (args.fp8.values != nullptr && !takes_fp8(args.type, args.width))) {
    return kEncodeCudaUnsupported;
  }
  if (args.rows == 0 || args.width == 0) return 0;
  if (args.fp8.values != nullptr)
    return launch_rows<kCentered, true, __nv_bfloat16>(args, shape, blocks);
  return launch_for(args.type, [&](auto type) {
    return launch_rows<kCentered, false, decltype(type)>(args, shape, blocks);
  });
}

}  // namespace

int layer_norm(const EncodeCudaNorm* args) { return launch_any<true>(*args); }
int rms_norm(const EncodeCudaNorm* args) { return launch_any<false>(*args); }

}  // namespace encode::cuda
