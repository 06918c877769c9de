// The memory of a run on a CPU. Each term names the function that allocates it. The constants were
// measured with tests/soak/memory_model.py on LibTorch 2.11; docs/planning.md has the figures.
#include <algorithm>
#include <fmt/format.h>

#include "base/compute_types.h"
#include "base/units.h"
#include "batching/window_bytes.h"
#include "kernels/kernels.h"
#include "kernels/packed_product.h"
#include "run_plan/memory/memory_estimate.h"

namespace encode {
namespace {

// The resident memory of encode-worker with LibTorch: before it loads a model, and after it has
// computed a batch.
constexpr int64_t kLoadingWorkerBytes = 106 * kMib;
constexpr int64_t kWorkerBytes = 124 * kMib;
constexpr int64_t kSupervisorBytes = 16 * kMib;
// glibc gives each thread but the first its own arena. An arena keeps freed blocks that are of the
// wrong size for new requests, so it grows to a multiple of the memory that is in use at once.
constexpr double kMainThreadFactor = 1.4;
constexpr double kThreadFactor = 3.5;
// The tables of a tokenizer, as a multiple of its file, and the WordCache of each tokenizing
// thread.
constexpr double kTokenizerFactor = 9;
constexpr int64_t kWordCacheBytes = 2 * kMib;

int64_t scaled(int64_t bytes, double factor) {
  return static_cast<int64_t>(static_cast<double>(bytes) * factor);
}

// The weights as CpuKernelProduct in nn/products/cpu_kernel_product.cc packs them.
// allocate_packed() takes whole huge pages for a weight that is larger than a huge page.
int64_t packed_bytes(const MemoryRequest& request) {
  const EffectiveResult& effective = request.effective;
  const auto kernel = kernels::kernel_for(effective.dtype, effective.float32_matmul_precision);
  if (!kernel) return matrix_bytes(request);  // oneDNN keeps the size
  int64_t packed = 0;
  for (const WeightShape& matrix : request.shape.matrices()) {
    const kernels::PackedWeight weight = {.kernel = *kernel,
                                          .out_features = matrix.out_features,
                                          .in_features = matrix.in_features,
                                          .data = nullptr};
    packed += weight.packed_bytes() * matrix.count;
  }
  return packed;
}

int64_t file_element_bytes(const MemoryRequest& request) {
  const int64_t known = request.shape.checkpoint_element_bytes;
  return known > 0 ? known : facts_of(ComputeType::kFloat32).bytes;
}

// Returns the peak of the host memory while weights are loaded. Either the first table is in memory
// twice, mapped and copied (WeightScope::take()), or the tensors of the last product are in memory
// beside the packed model (view()). A tensor that the file has in another order is copied first.
int64_t loading_peak(const MemoryRequest& request, int64_t packed) {
  const int64_t element = facts_of(request.effective.dtype).bytes;
  const int64_t in_file = file_element_bytes(request);
  const int64_t first_table = request.shape.largest_table_elements() * (in_file + element);
  const int64_t largest_product = request.shape.largest_matrix_elements();
  const int64_t in_order = request.shape.checkpoint_reordered ? in_file : 0;  // the copy
  const int64_t converted = in_file == element ? 0 : element;
  const int64_t last_product =
      table_bytes(request) + packed + largest_product * (in_file + in_order + converted);
  return kLoadingWorkerBytes + std::max(first_table, last_product);
}

// ModelKeeper::check_quantized() in job/loaded_model.cc loads the exact model in addition to the
// quantized model, and frees it after the comparison.
int64_t reference_model(const MemoryRequest& request) {
  if (!quantizes(request.effective.dtype)) return 0;
  MemoryRequest exact = request;
  exact.effective.dtype = facts_of(request.effective.dtype).exact;
  return packed_bytes(exact) + table_bytes(exact);
}

// CpuEncoder::encode() in engine/cpu_encoder.cc computes a batch on each thread. Batches that the
// texts do not fill are not computed.
int64_t busy_threads(const MemoryRequest& request) {
  const int64_t threads = std::max<int64_t>(1, request.batches.batches_at_once);
  if (request.texts.tokens == 0) return threads;
  const int64_t slots = request.token_slots();
  return std::clamp<int64_t>((request.texts.tokens + slots - 1) / slots, 1, threads);
}

int64_t all_activations(const MemoryRequest& request) {
  const int64_t one = activation_bytes(request);
  return scaled(one, kMainThreadFactor) + (busy_threads(request) - 1) * scaled(one, kThreadFactor);
}

// CpuAttention in nn/cpu/cpu_attention.cc: transposed keys, packed values, and the scores of a
// block of queries.
int64_t cpu_attention_bytes(const MemoryRequest& request) {
  constexpr int64_t kHeadTables = 3;
  const int64_t longest = request.longest_row_tokens();
  const int64_t numbers =
      longest * (kHeadTables * request.shape.head_dim + 2 * kernels::kAttentionQueryBlock);
  return busy_threads(request) * numbers * int64_t{sizeof(float)};
}

// The thread_local Scratch of CpuKernelProduct::compute() in nn/products/cpu_kernel_product.cc.
int64_t scratch_bytes(const MemoryRequest& request) {
  const EffectiveResult& effective = request.effective;
  const auto kernel = kernels::kernel_for(effective.dtype, effective.float32_matmul_precision);
  if (!kernel) return 0;
  int64_t largest = 0;
  for (const WeightShape& matrix : request.shape.matrices()) {
    largest = std::max(largest, kernels::scratch_bytes({.kernel = *kernel,
                                                        .out_features = matrix.out_features,
                                                        .in_features = matrix.in_features,
                                                        .data = nullptr}));
  }
  return busy_threads(request) * largest;
}

// The windows in job/: the texts of the window that WindowProducer reads, the ids and positions of
// the windows that wait for the device, and the vectors of the windows that are encoded
// (WindowEncoder::encode()), wait and are written (CommitThread).
MemoryPart windows_part(const MemoryRequest& request) {
  constexpr int64_t kRowBytes = 160;  // Text, offsets and lists of a row, as measured
  constexpr int64_t kVectorWindows = 3;
  const LargestWindow window = largest_window(request);
  const int64_t texts = request.texts.rows > 0
                            ? static_cast<int64_t>(static_cast<double>(request.texts.text_bytes) *
                                                   static_cast<double>(window.rows) /
                                                   static_cast<double>(request.texts.rows))
                            : request.prefetch_bytes / kWindowTextShares;
  // Short inputs fill fewer windows.
  const int64_t whole = request.texts.rows == 0
                            ? kWindowsAtOnce
                            : (request.texts.rows + window.rows - 1) / window.rows;
  const int64_t windows = std::min(whole, kWindowsAtOnce);
  const int64_t vectors = request.effective.token_embeddings() ? window.tokens : window.vectors;
  const int64_t values = vectors * request.effective.dim * int64_t{sizeof(float)};
  return {MemoryKind::kWindows,
          texts + windows * (window.tokens * kWindowTokenBytes + window.rows * kRowBytes) +
              std::min(whole, kVectorWindows) * values,
          fmt::format("{} of {}, {} of vectors", format_count(windows, "window", "windows"),
                      format_count(window.rows, "row", "rows"), format_bytes(values))};
}

MemoryPart tokenizer_part(const MemoryRequest& request) {
  const bool loaded = request.tokenizer_file_bytes > 0;
  return {MemoryKind::kTokenizer,
          loaded ? scaled(request.tokenizer_file_bytes, kTokenizerFactor) + kWordCacheBytes : 0,
          loaded ? format_bytes(request.tokenizer_file_bytes) + " of tokenizer file"
                 : "every row is token ids"};
}

}  // namespace

MemoryEstimate estimate_cpu(const MemoryRequest& request) {
  const int64_t packed = packed_bytes(request);
  const int64_t element = facts_of(request.effective.dtype).bytes;
  const int64_t threads = busy_threads(request);
  MemoryEstimate estimate;
  estimate.parts = {
      {MemoryKind::kProgram, kWorkerBytes + kSupervisorBytes, "encode and encode-worker"},
      {MemoryKind::kWeights, packed,
       fmt::format("{}, packed", numbers_text(request.shape.matrix_elements(), element))},
      {MemoryKind::kTables, table_bytes(request),
       numbers_text(request.shape.table_elements(), element)},
      {MemoryKind::kActivations, all_activations(request),
       fmt::format("{} x {} tokens x {} numbers x {} bytes, and what malloc keeps",
                   format_count(threads, "thread", "threads"), format_count(request.token_slots()),
                   format_count(layer_widths(request.shape).largest()), element)},
      {MemoryKind::kAttention, cpu_attention_bytes(request),
       fmt::format("rows of {} tokens", format_count(request.longest_row_tokens()))},
      {MemoryKind::kLibraries, scratch_bytes(request), "working memory of the CPU kernels"},
      windows_part(request),
      tokenizer_part(request)};
  const int64_t running = estimate.total_bytes();
  const int64_t loading = kSupervisorBytes + loading_peak(request, packed);
  const int64_t checking =
      running - estimate.bytes_of(MemoryKind::kActivations) + reference_model(request);
  estimate.parts.push_back({MemoryKind::kLoading,
                            std::max<int64_t>(0, std::max(loading, checking) - running),
                            "mapped tensors and their copies, beyond what the run needs later"});
  return estimate;
}

MemoryEstimate estimate_host_of_cuda(const MemoryRequest& request) {
  // cuBLAS, cuDNN and the driver map their libraries into the host's memory too.
  constexpr int64_t kCudaLibraryBytes = 1800 * kMib;
  // CudaEncoder::launch() in engine/cuda_encoder.cc and upload() in nn/layers/packed_input.cc: ids,
  // positions and vectors, in pinned memory that comes in powers of two.
  const int64_t batches = pinned_batches(request.effective.token_embeddings());
  const int64_t pinned =
      batches * (2 * request.token_slots() * int64_t{sizeof(int64_t)} +
                 2 * request.batch_rows() * request.effective.dim * int64_t{sizeof(float)});
  MemoryEstimate estimate;
  estimate.parts = {
      {MemoryKind::kProgram, kWorkerBytes + kSupervisorBytes, "encode and encode-worker"},
      {MemoryKind::kLibraries, kCudaLibraryBytes, "the libraries of CUDA (assumed)"},
      {MemoryKind::kBatchData, pinned, fmt::format("pinned memory for {} batches", batches)},
      windows_part(request),
      tokenizer_part(request)};
  const int64_t in_file = file_element_bytes(request);
  estimate.parts.push_back(
      {MemoryKind::kLoading,
       request.shape.largest_table_elements() * (in_file + facts_of(request.effective.dtype).bytes),
       "the largest tensor, mapped and converted"});
  return estimate;
}

}  // namespace encode
