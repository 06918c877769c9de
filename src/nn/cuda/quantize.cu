// The kernel that quantizes rows to 8-bit floats in one pass over memory.
#include "launchers.h"
#include "quantize.cuh"

namespace encode::cuda {
namespace {

// One block quantizes one row.
template <typename T>
__global__ void __launch_bounds__(kSharedRowThreads)
    quantize_kernel(const EncodeCudaQuantize args) {
  wait_for_earlier_kernels();
  const int64_t index = blockIdx.x;
  const T* row = static_cast<const T*>(args.x) + index * args.width;
  quantize_shared<T>(args.width, [row](int64_t element) { return load(row + element); },
                     {args.y, index, args.width});
}

}  // namespace

int quantize_rows(const EncodeCudaQuantize* args) {
  const SharedRowShape shape(args->width, args->type);
  if (shape.threads == 0 || args->rows > kMaxBlocks || !all_aligned(args->x, args->y.values))
    return kEncodeCudaUnsupported;
  if (args->rows == 0) return 0;
  return launch_for(args->type, [&](auto type) {
    return launch(quantize_kernel<decltype(type)>,
                  {static_cast<unsigned>(args->rows), shape.threads, shape.bytes}, args->stream,
                  *args);
  });
}

}  // namespace encode::cuda
