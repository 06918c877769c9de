#include "supervisor/plan/auto_settings.h"

#include <fmt/format.h>

#include "base/units.h"
#include "memory/planned_batch.h"

namespace encode {
namespace {

bool is_auto(const SpeedOptions& speed) {
  return speed.batch_size == kAutoBatch || speed.batch_tokens == kAutoBatch;
}

// A setting that is not `auto` still limits the batches.
void choose_batches(const MemoryRequest& request, const std::optional<MemoryLimit>& gpu,
                    ChosenSettings& chosen) {
  const bool free_size = chosen.speed.batch_size == kAutoBatch;
  if (free_size) chosen.speed.batch_size = 0;
  const bool free_tokens = chosen.speed.batch_tokens == kAutoBatch;
  if (free_tokens) chosen.speed.batch_tokens = 0;
  if (!gpu) {
    chosen.notes.push_back("batches: auto, as large as the cache of a core takes");
    return;
  }
  const PlannedBatch planned = plan_batch(
      request,
      {.kind = DeviceKind::kCuda, .free_bytes = gpu->free_bytes, .total_bytes = gpu->total_bytes});
  if (planned.limit == BatchLimit::kNothingFits) {
    chosen.notes.push_back(
        fmt::format("batches: auto, but {} has only {} free; the run begins with usual batches",
                    gpu->name, format_bytes(gpu->free_bytes)));
    return;
  }
  const int64_t tokens = planned.batches.budget_tokens;
  if (free_tokens) {
    chosen.speed.batch_tokens = tokens;
  } else if (free_size) {
    chosen.speed.batch_size = planned.batch_size;
  }
  chosen.notes.push_back(
      fmt::format("batches: auto, {} tokens: {} of the {} that {} has free ({})",
                  format_count(tokens), format_bytes(planned.memory.total_bytes()),
                  format_bytes(gpu->free_bytes), gpu->name, to_string(planned.limit)));
}

}  // namespace

ChosenSettings choose_settings(const SpeedOptions& speed, const MemoryRequest& request,
                               const std::optional<MemoryLimit>& gpu) {
  ChosenSettings chosen = {.speed = speed};
  if (is_auto(speed)) choose_batches(request, gpu, chosen);
  return chosen;
}

}  // namespace encode
