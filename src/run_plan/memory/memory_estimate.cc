#include "run_plan/memory/memory_estimate.h"

#include <algorithm>

namespace encode {

std::string_view to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kProgram:
      return "program and LibTorch";
    case MemoryKind::kContext:
      return "CUDA context";
    case MemoryKind::kWeights:
      return "weights";
    case MemoryKind::kTables:
      return "tables";
    case MemoryKind::kActivations:
      return "activations";
    case MemoryKind::kAttention:
      return "attention workspace";
    case MemoryKind::kLibraries:
      return "library workspaces";
    case MemoryKind::kBatchData:
      return "batch data";
    case MemoryKind::kWindows:
      return "windows";
    case MemoryKind::kTokenizer:
      return "tokenizer";
    case MemoryKind::kLoading:
      return "loading";
    case MemoryKind::kRounding:
      break;
  }
  return "allocator rounding";
}

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
  const double mean = static_cast<double>(texts.tokens) / static_cast<double>(texts.rows);
  const auto rows = static_cast<int64_t>(static_cast<double>(token_slots()) / std::max(mean, 1.0));
  return std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, largest_window(*this).rows));
}

int64_t element_bytes(ComputeType type) {
  switch (type) {
    case ComputeType::kFloat32:
    case ComputeType::kInt8:
      return 4;
    case ComputeType::kBFloat16:
    case ComputeType::kFloat16:
    case ComputeType::kFp8:
      break;
  }
  return 2;
}

LargestWindow largest_window(const MemoryRequest& request) {
  const TextFacts& texts = request.texts;
  const int64_t chunk = std::max<int64_t>(1, request.chunk_rows);
  const bool known = texts.rows > 0 && texts.tokens > 0;
  const double mean = known ? static_cast<double>(texts.tokens) / static_cast<double>(texts.rows)
                            : static_cast<double>(request.longest_row_tokens());
  const double row_bytes =
      known ? static_cast<double>(texts.text_bytes) / static_cast<double>(texts.rows) : mean;
  // PartSource::read_texts() ends a part at the chunk, at window_rows(), or at its
  // share of prefetch_bytes.
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
  LargestWindow size = {.rows = part * parts, .tokens = 0};
  if (texts.rows > 0) size.rows = std::min(size.rows, texts.rows);
  size.tokens = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(size.rows) * mean));
  return size;
}

}  // namespace encode
