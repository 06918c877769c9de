// The memory of one GPU. Each term names the function that allocates it.
#include <algorithm>
#include <fmt/format.h>

#include "base/compute_types.h"
#include "base/units.h"
#include "run_plan/memory/memory_estimate.h"

namespace encode {
namespace {

// The CUDA context with the kernels of LibTorch, cuBLASLt and the plugin that a run loads. It is
// assumed from published figures; `encode plan --profile` measures what is left of the card.
constexpr int64_t kContextBytes = 560 * kMib;
// The workspace of cuBLASLt is set in nn/cuda/product_settings.cc. LibTorch's workspace of cuBLAS
// has this size from compute capability 9.0 on, and is smaller on other GPUs.
constexpr int64_t kWorkspaceBytes = 64 * kMib;  // 32 MiB each
// LibTorch's caching allocator takes memory from the device in segments of 2 MiB
// (c10/cuda/CUDACachingAllocator: kSmallBuffer, and the pages of expandable segments).
constexpr int64_t kSegmentBytes = 2 * kMib;
constexpr int64_t kLargePoolSegment = 20 * kMib;

// make_fp8_product() in nn/products/fp8_product.cc keeps one byte for each weight and a float32
// scale for each output; CublasProduct in nn/products/cublas_product.cc keeps the compute type.
int64_t weight_bytes(const MemoryRequest& request) {
  if (!quantizes(request.effective.dtype)) return matrix_bytes(request);
  int64_t scales = 0;
  for (const WeightShape& matrix : request.shape.matrices())
    scales += matrix.out_features * matrix.count;
  return request.shape.matrix_elements() + scales * int64_t{sizeof(float)};
}

// Loading concatenates the projections of one product (ModuleLoader::fused() and
// ProductParts::weight()), so the parts and the whole exist at once. Nothing is computed then.
int64_t largest_product_bytes(const MemoryRequest& request) {
  return request.shape.largest_matrix_elements() * facts_of(request.effective.dtype).bytes;
}

// ModelKeeper::check_quantized() in job/loaded_model.cc loads the exact model in addition to the
// quantized model, and frees it after the comparison.
int64_t exact_model_bytes(const MemoryRequest& request) {
  if (!quantizes(request.effective.dtype)) return 0;
  return matrix_bytes(request) + table_bytes(request);
}

// Quantized copies of a product's input: empty_fp8_rows() in nn/fp8/fp8_rows.cc, one byte for a
// number.
int64_t fp8_rows(const MemoryRequest& request) {
  if (!quantizes(request.effective.dtype)) return 0;
  return request.token_slots() *
         std::max(request.shape.hidden_size, request.shape.intermediate_size);
}

// varlen_attention() in nn/cuda/cuda_attention.cc. FlashAttention-2 keeps the logarithm of each sum
// of a softmax. The memory-efficient kernel gets repeated heads of keys and values. pair_bias()
// makes a matrix of biases for each head.
int64_t cuda_attention_bytes(const MemoryRequest& request) {
  const ModelShape& shape = request.shape;
  const int64_t slots = request.token_slots();
  const int64_t element = facts_of(request.effective.dtype).bytes;
  int64_t bytes = slots * shape.num_attention_heads * int64_t{sizeof(float)};
  const bool efficient = request.effective.dtype == ComputeType::kFloat32 || shape.relative();
  if (efficient && shape.num_key_value_heads < shape.num_attention_heads)
    bytes += 2 * slots * shape.query_width() * element;
  if (shape.relative()) {
    const int64_t longest = request.longest_row_tokens();
    bytes += (shape.num_attention_heads * longest + slots) * longest * element;
  }
  return bytes;
}

// to_device() in nn/layers/packed_input.cc: ids and positions as int64, and cu_seqlens; the pooled
// vectors of two batches (CudaEncoder::encode()).
int64_t batch_bytes(const MemoryRequest& request) {
  const int64_t rows = request.batch_rows();
  const int64_t vectors = request.effective.token_embeddings() ? request.token_slots() : rows;
  return 2 * request.token_slots() * int64_t{sizeof(int64_t)} + rows * int64_t{sizeof(int32_t)} +
         2 * vectors * std::max(request.effective.dim, request.shape.hidden_size) *
             int64_t{sizeof(float)};
}

}  // namespace

MemoryEstimate estimate_cuda(const MemoryRequest& request) {
  const int64_t element = facts_of(request.effective.dtype).bytes;
  const int64_t weights = weight_bytes(request);
  const int64_t activations = activation_bytes(request) + fp8_rows(request);
  MemoryEstimate estimate;
  estimate.parts = {
      {MemoryKind::kContext, kContextBytes, "context and kernels (assumed)"},
      {MemoryKind::kWeights, weights,
       numbers_text(request.shape.matrix_elements(),
                    quantizes(request.effective.dtype) ? 1 : element)},
      {MemoryKind::kTables, table_bytes(request),
       numbers_text(request.shape.table_elements(), element)},
      {MemoryKind::kActivations, activations,
       fmt::format("{} tokens x {} numbers x {} bytes", format_count(request.token_slots()),
                   format_count(layer_widths(request.shape).largest()), element)},
      {MemoryKind::kAttention, cuda_attention_bytes(request),
       fmt::format("{} heads, rows of at most {} tokens", request.shape.num_attention_heads,
                   format_count(request.longest_row_tokens()))},
      {MemoryKind::kLibraries, kWorkspaceBytes, "a workspace of cuBLAS and one of cuBLASLt"},
      {MemoryKind::kBatchData, batch_bytes(request),
       fmt::format("ids and positions, {} rows", format_count(request.batch_rows()))}};
  // Nothing else is computed during either of them.
  const int64_t loading = std::max(largest_product_bytes(request), exact_model_bytes(request));
  if (loading > activations)
    estimate.parts.push_back({MemoryKind::kLoading, loading - activations,
                              quantizes(request.effective.dtype)
                                  ? "the exact model, for the check of the first vectors"
                                  : "the parts of a product and the whole, at once"});
  // The number of live hidden states. Each of them ends in a partly used segment. In addition, both
  // pools of the allocator keep a segment open.
  constexpr int64_t kLiveBlocks = 8;
  estimate.parts.push_back({MemoryKind::kRounding,
                            kLiveBlocks * kSegmentBytes + kLargePoolSegment + kSegmentBytes,
                            "segments of 2 and 20 MiB"});
  return estimate;
}

}  // namespace encode
