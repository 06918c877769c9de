#include "run_plan/memory/memory_estimate.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/compute_types.h"
#include "base/names.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr NameTable<MemoryKind, 12> kMemoryKinds = {
    {{"program and LibTorch", MemoryKind::kProgram},
     {"CUDA context", MemoryKind::kContext},
     {"weights", MemoryKind::kWeights},
     {"tables", MemoryKind::kTables},
     {"activations", MemoryKind::kActivations},
     {"attention workspace", MemoryKind::kAttention},
     {"library workspaces", MemoryKind::kLibraries},
     {"batch data", MemoryKind::kBatchData},
     {"windows", MemoryKind::kWindows},
     {"tokenizer", MemoryKind::kTokenizer},
     {"loading", MemoryKind::kLoading},
     {"allocator rounding", MemoryKind::kRounding}}};

}  // namespace

std::string_view to_string(MemoryKind kind) { return name_of(kMemoryKinds, kind); }

int64_t MemoryEstimate::total_bytes() const {
  int64_t sum = 0;
  for (const MemoryPart& part : parts) sum += part.bytes;
  return sum;
}

int64_t MemoryEstimate::bytes_of(MemoryKind kind) const {
  int64_t sum = 0;
  for (const MemoryPart& part : parts) sum += part.kind == kind ? part.bytes : 0;
  return sum;
}

int64_t MemoryRequest::longest_row_tokens() const {
  const int64_t known = texts.longest_row_tokens;
  return std::max<int64_t>(
      1, known > 0 ? std::min(known, effective.max_length) : effective.max_length);
}

int64_t MemoryRequest::token_slots() const {
  // best_fit() in batching/pack.cc gives a longer row a batch with room for the next multiple.
  const int64_t budget = std::max<int64_t>(1, batches.budget_tokens);
  const int64_t capacity = (longest_row_tokens() + budget - 1) / budget * budget;
  if (batches.launch_tokens == 0) {
    const int64_t longest = longest_row_tokens();
    // On a CPU a batch has no padding, so a batch for one long row is as long as that row.
    return texts.tokens > 0 ? std::min(std::max(longest, budget), std::max(texts.tokens, longest))
                            : std::max(longest, budget);
  }
  const int64_t launch = batches.launch_tokens;
  const int64_t filled =
      texts.tokens > 0 ? std::min(capacity, largest_window(*this).tokens) : capacity;
  return (filled + launch - 1) / launch * launch;
}

int64_t MemoryRequest::batch_rows() const {
  if (texts.rows == 0 || texts.tokens == 0)
    return std::max<int64_t>(1, token_slots() / longest_row_tokens());
  const double mean = static_cast<double>(texts.tokens) / static_cast<double>(texts.sequences());
  const auto rows = static_cast<int64_t>(static_cast<double>(token_slots()) / std::max(mean, 1.0));
  return std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, largest_window(*this).vectors));
}

LargestWindow largest_window(const MemoryRequest& request) {
  const TextFacts& texts = request.texts;
  const int64_t chunk = std::max<int64_t>(1, request.chunk_rows);
  const bool known = texts.rows > 0 && texts.tokens > 0;
  const double mean = known ? static_cast<double>(texts.tokens) / static_cast<double>(texts.rows)
                            : static_cast<double>(request.longest_row_tokens());
  const double row_bytes =
      known ? static_cast<double>(texts.text_bytes) / static_cast<double>(texts.rows) : mean;
  // PartSource::read_texts() ends a part after the last row of the chunk, after window_rows() rows,
  // or after `text_bytes`, whichever comes first.
  const int64_t text_bytes = request.prefetch_bytes / kWindowTextShares;
  const int64_t most_rows = window_rows(text_bytes);
  const auto by_bytes =
      static_cast<int64_t>(static_cast<double>(text_bytes) / std::max(row_bytes, 1.0));
  const int64_t part = std::max<int64_t>(1, std::min({chunk, most_rows, by_bytes + 1}));
  // WindowProducer::make_window() takes parts until one of its limits is reached.
  const auto by_tokens = static_cast<int64_t>(static_cast<double>(window_tokens(request.batches)) /
                                              std::max(mean, 1.0));
  const int64_t wanted = std::min(most_rows, by_tokens + 1);
  const int64_t parts = std::clamp<int64_t>((wanted + part - 1) / part, 1, kWindowChunks);
  LargestWindow size = {.rows = part * parts};
  if (texts.rows > 0) size.rows = std::min(size.rows, texts.rows);
  size.tokens = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(size.rows) * mean));
  size.vectors = size.rows;
  if (texts.rows > 0 && texts.passages > 0) {
    const double per_row = static_cast<double>(texts.passages) / static_cast<double>(texts.rows);
    size.vectors = static_cast<int64_t>(static_cast<double>(size.rows) * per_row);
  }
  return size;
}

LayerWidths layer_widths(const ModelShape& shape) {
  const int64_t hidden = shape.hidden_size;
  const int64_t heads = shape.query_width();
  if (shape.num_hidden_layers == 0) return {.attention = hidden, .mlp = hidden};
  const int64_t between = (shape.gated ? 3 : 1) * shape.intermediate_size;
  return {.attention = 2 * hidden + 2 * heads + 2 * shape.key_value_width(),
          .mlp = 3 * hidden + heads + between};
}

int64_t activation_bytes(const MemoryRequest& request) {
  // Rotary::angles() in nn/layers/rotary.cc: the cosines and sines of each token, in float32.
  const int64_t angles =
      request.shape.rotary() ? request.shape.head_dim * int64_t{sizeof(float)} : 0;
  return request.token_slots() *
         (layer_widths(request.shape).largest() * facts_of(request.effective.dtype).bytes + angles);
}

int64_t matrix_bytes(const MemoryRequest& request) {
  return request.shape.matrix_elements() * facts_of(request.effective.dtype).bytes;
}

int64_t table_bytes(const MemoryRequest& request) {
  int64_t bytes = (request.shape.table_elements() + request.shape.vector_elements()) *
                  facts_of(request.effective.dtype).bytes;
  // make_table() in nn/layers/rotary.cc has a cosine and a sine for each position.
  if (request.shape.rotary())
    bytes += request.effective.max_length * request.shape.head_dim * int64_t{sizeof(float)};
  for (const SentenceModule& module : request.effective.modules) {
    if (module.kind != SentenceModule::Kind::kDense) continue;
    bytes += module.in_features * module.out_features * facts_of(ComputeType::kFloat32).bytes;
  }
  return bytes;
}

std::string numbers_text(int64_t elements, int64_t bytes_each) {
  return fmt::format("{} numbers x {} bytes", format_rate(static_cast<double>(elements)),
                     bytes_each);
}

}  // namespace encode
