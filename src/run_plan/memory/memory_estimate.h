// Estimates how much memory a run needs, part by part. Any thread may call these functions. They
// throw no Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/batch_plan.h"
#include "encode/model_directory.h"

#include "run_plan/memory/model_shape.h"

namespace encode {

inline constexpr int64_t kMib = int64_t{1} << 20;

// The parts of the memory of a run, in the order in which reports show them.
enum class MemoryKind {
  kProgram,      // the program and LibTorch
  kContext,      // the CUDA context and its kernels
  kWeights,      // the weights of matrix products, packed on a CPU
  kTables,       // embeddings, norms and biases
  kActivations,  // the hidden states of the batches that are computed at once
  kAttention,    // the temporary buffers of attention
  kLibraries,    // workspaces of cuBLAS and cuBLASLt, working memory of the CPU kernels; on the
                 // host of a GPU, the libraries of CUDA
  kBatchData,    // token ids, positions and results of a batch
  kWindows,      // texts and ids that are read ahead, and vectors that wait for their commit
  kTokenizer,
  kLoading,   // memory that is used only while the weights are loaded
  kRounding,  // what the allocator rounds up
};
std::string_view to_string(MemoryKind kind);  // "weights", "tables", ...

struct MemoryPart {
  MemoryKind kind = MemoryKind::kProgram;
  int64_t bytes = 0;
  std::string why = {};  // the arithmetic, in a few words: "85.0M elements x 4 bytes"
};

struct MemoryEstimate {
  std::vector<MemoryPart> parts = {};

  int64_t total_bytes() const;
  int64_t bytes_of(MemoryKind kind) const;
};

// Facts about the inputs of one stream. 0 stands for "not known"; then every row counts as having
// the greatest length.
struct TextFacts {
  int64_t rows = 0;
  int64_t tokens = 0;              // of all rows together
  int64_t text_bytes = 0;          // of all rows together
  int64_t longest_row_tokens = 0;  // after the cut at max_length; with passages: of a sequence
  int64_t passages = 0;            // of all rows together; 0: the rows are not cut into passages
  int64_t windows = 0;             // of all rows together; 0 without PassageVectors::kLate

  // The number of token sequences.
  int64_t sequences() const { return windows > 0 ? windows : vectors(); }
  // The number of vectors before row_vector, if tokens have none.
  int64_t vectors() const { return passages > 0 ? passages : rows; }
};

// One stream: its model, its settings and its texts.
struct MemoryRequest {
  ModelShape shape;
  EffectiveResult effective;
  BatchPlan batches;
  TextFacts texts = {};
  int64_t chunk_rows = kMostDefaultChunkRows;
  int64_t prefetch_bytes = SpeedOptions{}.prefetch_bytes;
  int64_t tokenizer_file_bytes = 0;  // 0: no tokenizer is loaded

  int64_t longest_row_tokens() const;
  // The token positions of the largest batch, padding included (Transformer::token_slots()).
  int64_t token_slots() const;
  // A batch has at most this number of rows.
  int64_t batch_rows() const;
};

// The rows and the tokens of the largest possible window (job/window_producer.cc).
struct LargestWindow {
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t vectors = 0;  // of its rows, or of their passages
};
LargestWindow largest_window(const MemoryRequest& request);

// The hidden states that exist at the same time in attention and in the MLP, as numbers for each
// token position. A batch needs the larger of the two.
struct LayerWidths {
  // SelfAttention::heads_of() in models/layers.cc: the input, its norm, queries with keys and
  // values, and the heads.
  int64_t attention = 0;
  // FeedForward::inner() and add(): the input, the heads, the residual sum, its norm, what is
  // between the two products, and the result of the second one. apply_gate() holds both halves and
  // their product at once.
  int64_t mlp = 0;

  int64_t largest() const { return attention > mlp ? attention : mlp; }
};
LayerWidths layer_widths(const ModelShape& shape);

// Returns the bytes of the hidden states of one batch: MemoryRequest::token_slots() x
// LayerWidths::largest().
int64_t activation_bytes(const MemoryRequest& request);

// Returns the bytes of the weights of matrix products, without tables, in the compute type and
// unpacked.
int64_t matrix_bytes(const MemoryRequest& request);
// Returns the bytes of tables, norms and biases, which WeightScope::take() copies in the compute
// type, and of the modules after the transformer (engine/head.cc), which are float32.
int64_t table_bytes(const MemoryRequest& request);

// Returns a text such as "85.0M numbers x 4 bytes".
std::string numbers_text(int64_t elements, int64_t bytes_each);

// Each function returns the largest memory that a run needs at once.
//
// estimate_cpu: the resident memory of `encode` and encode-worker together, on a CPU.
MemoryEstimate estimate_cpu(const MemoryRequest& request);
// estimate_cuda: the memory of one GPU that the worker takes, with the context and the blocks that
// the caching allocator reserves.
MemoryEstimate estimate_cuda(const MemoryRequest& request);
// estimate_host_of_cuda: the host's memory of a run that computes on a GPU.
MemoryEstimate estimate_host_of_cuda(const MemoryRequest& request);

}  // namespace encode
