#include "run_plan/memory/memory_refusal.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/compute_types.h"
#include "base/host.h"
#include "base/units.h"

namespace encode {
namespace {

// Returns the request with the smallest batch, to which a run can be reduced.
MemoryRequest smallest(const MemoryRequest& request) {
  MemoryRequest least = request;
  least.batches.budget_tokens = std::max<int64_t>(1, request.batches.launch_tokens);
  least.batches.batches_at_once = 1;
  least.texts = {.rows = 1, .tokens = 1, .text_bytes = 1, .longest_row_tokens = 1};
  return least;
}

std::string size_of_type(const MemoryRequest& request) {
  return fmt::format("{} bytes", facts_of(request.effective.dtype).bytes);
}

std::string arithmetic(const MemoryRequest& request) {
  const ModelShape& shape = request.shape;
  return fmt::format(
      "{}: tables {} (vocab_size {} x {} x {}), weights {} ({} layers: hidden_size {}, "
      "intermediate_size {}, {} heads of {})",
      format_bytes(matrix_bytes(request) + table_bytes(request)),
      format_bytes(table_bytes(request)), format_count(shape.vocab_size),
      format_count(shape.embedding_size), size_of_type(request),
      format_bytes(matrix_bytes(request)), format_count(shape.stored_layers),
      format_count(shape.hidden_size), format_count(shape.intermediate_size),
      format_count(shape.num_attention_heads), format_count(shape.head_dim));
}

// Returns what would fit: a smaller type, a smaller vocabulary, fewer layers.
std::string what_fits(const MemoryRequest& request, int64_t limit_bytes) {
  const int64_t element = facts_of(request.effective.dtype).bytes;
  const int64_t weights = matrix_bytes(request);
  if (element > 2 && (weights + table_bytes(request)) / 2 < limit_bytes)
    return "--dtype bfloat16 (semantic.dtype) needs half of it and fits";
  if (weights < limit_bytes) {
    const int64_t rows = (limit_bytes - weights) / (request.shape.embedding_size * element);
    return fmt::format(
        "with these layers a vocabulary of at most {} fits; check config.json, or "
        "use a machine with more memory",
        format_count(rows));
  }
  const int64_t layer =
      std::max<int64_t>(1, weights / std::max<int64_t>(1, request.shape.stored_layers));
  return fmt::format(
      "one layer needs {}, so at most {} layers fit; check config.json, or use a "
      "machine with more memory",
      format_bytes(layer), format_count(limit_bytes / layer));
}

MemoryEstimate estimate(const MemoryRequest& request, DeviceKind kind) {
  return kind == DeviceKind::kCpu ? estimate_cpu(request) : estimate_cuda(request);
}

bool may_use_gpu(const MemoryLimit& limit) {
  return limit.kind == DeviceKind::kCuda || limit.may_use_gpu;
}

// Returns the host memory of the supervisor and a worker.
MemoryEstimate host_estimate(const MemoryRequest& request, const MemoryLimit& limit) {
  return may_use_gpu(limit) ? estimate_host_of_cuda(request) : estimate_cpu(request);
}

// Returns the host memory that a run needs in any case. The libraries of CUDA do not count, because
// their memory is not measured.
MemoryEstimate least_host_memory(const MemoryRequest& request, const MemoryLimit& limit) {
  MemoryRequest least = smallest(request);
  if (may_use_gpu(limit)) {
    MemoryEstimate host = estimate_host_of_cuda(least);
    std::erase_if(host.parts,
                  [](const MemoryPart& part) { return part.kind == MemoryKind::kLibraries; });
    return host;
  }
  least.batches.budget_tokens = 1;
  least.batches.launch_tokens = 0;
  return estimate_cpu(least);
}

// "program and LibTorch 146.8 MB, weights 42.5 MB". Leaves out what is less than a hundredth.
std::string parts_text(const MemoryEstimate& estimate) {
  constexpr int64_t kLeastShare = 100;
  std::vector<std::string> texts;
  for (const MemoryPart& part : estimate.parts) {
    if (part.bytes * kLeastShare >= estimate.total_bytes())
      texts.push_back(fmt::format("{} {}", to_string(part.kind), format_bytes(part.bytes)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Rounds up to two or three digits, so that format_bytes() shows the number exactly.
int64_t round_up(int64_t bytes) {
  int64_t step = 1;
  while (step * 100 < bytes) step *= 10;
  return (bytes + step - 1) / step * step;
}

void require_run_limit(const MemoryRequest& request, const MemoryLimit& limit,
                       const std::string& where) {
  const RunLimit& run = limit.run;
  if (run.bytes <= 0) return;
  const MemoryEstimate least = least_host_memory(request, limit);
  const int64_t bytes = least.total_bytes();
  if (bytes <= run.of_worker()) return;
  throw Error({.code = "limit.memory",
               .what = "the run cannot stay within its memory limit",
               .where = where,
               .expected = "at most " + describe(run),
               .found = fmt::format("about {} of host memory{} with the smallest batch: {}",
                                    format_bytes(bytes), run.workers > 1 ? " for each worker" : "",
                                    parts_text(least)),
               .hint = fmt::format("raise the limit to {} or more, or leave it out",
                                   format_bytes(round_up(bytes * run.workers)))});
}

void require_device_memory(const MemoryRequest& request, const MemoryLimit& limit,
                           const std::string& where) {
  if (limit.total_bytes <= 0) return;
  // Packed weights may have fewer bytes than their type says, so a need counts as certain only if
  // it is far above the limit.
  constexpr double kCertain = 0.7;
  const MemoryRequest least = smallest(request);
  const double bytes = static_cast<double>(matrix_bytes(least) + table_bytes(least));
  const double activations =
      limit.kind == DeviceKind::kCuda ? static_cast<double>(activation_bytes(least)) : 0.0;
  if (kCertain * (bytes + activations) <= static_cast<double>(limit.total_bytes)) return;
  std::string found = arithmetic(least);
  if (activations > 0)
    found += fmt::format(
        "; the smallest batch needs {} beside them, and the CUDA context and libraries {}",
        format_bytes(static_cast<int64_t>(activations)),
        format_bytes(estimate_cuda(least).bytes_of(MemoryKind::kContext)));
  throw Error({.code = "limit.memory",
               .what = fmt::format("the model cannot fit into the memory of {}", limit.name),
               .where = where,
               .expected = "at most " + format_bytes(limit.total_bytes),
               .found = std::move(found),
               .hint = what_fits(least, limit.total_bytes)});
}

std::optional<std::string> run_limit_warning(const MemoryRequest& request,
                                             const MemoryLimit& limit) {
  if (limit.run.bytes <= 0) return std::nullopt;
  const MemoryEstimate host = host_estimate(request, limit);
  const int64_t bytes = host.total_bytes() - host.bytes_of(MemoryKind::kWindows);
  if (bytes <= limit.run.of_worker()) return std::nullopt;
  return fmt::format(
      "the run is likely to pass its memory limit: it needs about {} of host memory beside what it "
      "reads ahead, and the limit is {}; `encode plan` shows where the memory goes",
      format_bytes(bytes), describe(limit.run));
}

}  // namespace

std::string describe(const RunLimit& limit) {
  const std::string names = "--memory-limit, hardware.memory_limit";
  if (limit.workers == 1) return fmt::format("{} ({})", format_bytes(limit.bytes), names);
  return fmt::format("{} for each of {} workers, of {} ({})", format_bytes(limit.of_worker()),
                     limit.workers, format_bytes(limit.bytes), names);
}

MemoryLimit host_limit() {
  const int64_t most = most_memory_bytes();
  return {.kind = DeviceKind::kCpu,
          .name = "this machine",
          .total_bytes = most > 0 ? most + swap_bytes() : 0,
          .free_bytes = host_memory().available_bytes};
}

void require_memory(const MemoryRequest& request, const MemoryLimit& limit,
                    const std::string& where) {
  require_device_memory(request, limit, where);
  require_run_limit(request, limit, where);
}

std::optional<std::string> memory_warning(const MemoryRequest& request, const MemoryLimit& limit) {
  if (auto warning = run_limit_warning(request, limit)) return warning;
  if (limit.free_bytes <= 0) return std::nullopt;
  const int64_t bytes = estimate(request, limit.kind).total_bytes();
  if (bytes <= limit.free_bytes) return std::nullopt;
  return fmt::format(
      "the run needs about {} of memory, and {} has {} free; `encode plan` shows "
      "where the memory goes",
      format_bytes(bytes), limit.name, format_bytes(limit.free_bytes));
}

void require_batch(const MemoryRequest& request, const MemoryLimit& limit) {
  const MemoryEstimate whole = estimate(request, limit.kind);
  if (limit.total_bytes <= 0 || whole.total_bytes() <= limit.total_bytes) return;
  const int64_t batch = activation_bytes(request) + whole.bytes_of(MemoryKind::kAttention);
  const int64_t rest = whole.total_bytes() - batch;
  const int64_t token = std::max<int64_t>(1, batch / std::max<int64_t>(1, request.token_slots()));
  const int64_t fits = std::max<int64_t>(0, limit.total_bytes - rest) / token;
  throw Error(
      {.code = "limit.batch",
       .what = fmt::format("a batch of this size cannot fit into the memory of {}", limit.name),
       .where = "--batch-size, --batch-tokens (semantic.batch_size, semantic.batch_tokens)",
       .expected = fmt::format("at most {}: batches of about {} tokens, which are {} rows of {}",
                               format_bytes(limit.total_bytes), format_count(fits),
                               format_count(fits / request.longest_row_tokens()),
                               format_count(request.longest_row_tokens())),
       .found = fmt::format("{}: {} for {} tokens in one batch, {} for weights and the rest",
                            format_bytes(whole.total_bytes()), format_bytes(batch),
                            format_count(request.token_slots()), format_bytes(rest)),
       .hint = "leave the batch settings out: encode plan finds them"});
}

}  // namespace encode
