// Looks up and adds the embeddings of each token, and normalizes the sum, as BERT does before its
// first layer.
#include "launchers.h"
#include "rows.cuh"

namespace encode::cuda {
namespace {

template <typename T>
__device__ void add(Lane<T>& lane, const T* from) {
  const Lane<T> term = load(from);
#pragma unroll
  for (int j = 0; j < kLane<T>; ++j) lane.values[j] += term.values[j];
}

template <typename T, int kLanes>
__global__ void __launch_bounds__(kMaxRowThreads)
    embedding_kernel(const EncodeCudaEmbedding args, const int64_t row_vectors) {
  wait_for_earlier_kernels();
  const int64_t token = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool inside = token < args.tokens;
  const int64_t vectors = inside ? row_vectors : 0;
  const T* word = static_cast<const T*>(args.words) + (inside ? args.ids[token] * args.width : 0);
  const auto* segment = static_cast<const T*>(args.segment);
  const T* position = nullptr;
  if (inside && args.positions != nullptr)
    position = static_cast<const T*>(args.positions) + args.position_ids[token] * args.width;
  Row<T, kLanes> row;
  row.each(vectors, [&](Lane<T>& lane, int64_t element) {
    lane = load(word + element);
    if (segment != nullptr) add(lane, segment + element);
    if (position != nullptr) add(lane, position + element);
  });
  if (args.weight != nullptr)
    normalize</*kCentered=*/true>(row, vectors, {args.weight, args.bias, false}, args.eps);
  row.each(vectors, [&](Lane<T>& lane, int64_t element) {
    store(static_cast<T*>(args.y) + token * args.width + element, lane);
  });
}

}  // namespace

int embedding(const EncodeCudaEmbedding* args) {
  const RowShape shape = shape_of(args->width, args->type);
  const int64_t blocks = (args->tokens + shape.rows - 1) / shape.rows;
  if (args->width % lane_of(args->type) != 0 || shape.threads == 0 || blocks > kMaxBlocks ||
      !all_aligned(args->words, args->segment, args->positions, args->weight, args->bias,
                   args->y)) {
    return kEncodeCudaUnsupported;
  }
  if (args->tokens == 0 || args->width == 0) return 0;
  return launch_for(args->type, [&](auto type) {
    return with_lanes(shape.lanes, [&](auto lanes) {
      return launch(embedding_kernel<decltype(type), lanes()>,
                    {static_cast<unsigned>(blocks), shape.block()}, args->stream, *args,
                    shape.vectors);
    });
  });
}

}  // namespace encode::cuda
