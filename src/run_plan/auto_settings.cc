#include "run_plan/auto_settings.h"

#include <fmt/format.h>
#include <utility>

#include "base/units.h"
#include "run_plan/memory/planned_batch.h"

namespace encode {

// If only one of the two limits of a batch is `auto`, the other limit stays as the config has it.
std::string choose_batches(StreamConfig& stream, const MemoryRequest& request,
                           const std::optional<MemoryLimit>& gpu) {
  const AutoBatch automatic = std::exchange(stream.auto_batch, {});
  if (!gpu) return "batches: auto, as large as the cache of a core takes";
  const PlannedBatch planned = plan_batch(
      request,
      {.kind = DeviceKind::kCuda, .free_bytes = gpu->free_bytes, .total_bytes = gpu->total_bytes});
  if (planned.limit == BatchLimit::kNothingFits) {
    return fmt::format("batches: auto, but {} has only {} free; the run begins with usual batches",
                       gpu->name, format_bytes(gpu->free_bytes));
  }
  const int64_t tokens = planned.batches.budget_tokens;
  if (automatic.tokens) {
    stream.speed.batch_tokens = tokens;
  } else {
    stream.speed.batch_size = planned.batch_size;
  }
  return fmt::format("batches: auto, {} tokens: {} of the {} that {} has free ({})",
                     format_count(tokens), format_bytes(planned.memory.total_bytes()),
                     format_bytes(gpu->free_bytes), gpu->name, to_string(planned.limit));
}

}  // namespace encode
