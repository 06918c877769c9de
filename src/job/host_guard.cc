#include "job/host_guard.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

#include "base/host.h"
#include "base/units.h"
#include "job/tokenize_plan.h"

namespace encode {
namespace {

// Returns the memory of the host, limited to HardwareOptions::memory_limit_bytes. Each worker of
// the run gets an equal part of the limit.
HostMemory run_memory(const JobSpec& job) {
  const HostMemory host = host_memory();
  if (job.hardware.memory_limit_bytes == 0) return host;
  return within(host, job.hardware.memory_limit_bytes / job.workers,
                resident_bytes() + resident_bytes(::getppid()));
}

// Returns the pinned memory for the ids and vectors of all batches that are launched at a time. It
// assumes eight tokens in a row; rows of usual texts have more.
int64_t pinned_bytes(const JobUnit& unit, const BatchPlan& batches) {
  constexpr int64_t kIdBytes = 12;
  constexpr int64_t kRowTokens = 8;
  const int64_t vectors =
      unit.identity.token_embeddings ? batches.budget_tokens : batches.budget_tokens / kRowTokens;
  return pinned_batches(unit.identity.token_embeddings) *
         (batches.budget_tokens * kIdBytes + vectors * unit.identity.dim * int64_t{sizeof(float)});
}

int64_t cache_bytes(const JobSpec& job) {
  return job.embedding_cache.dir.empty() ? 0 : job.embedding_cache.memory_bytes / job.workers;
}

std::string describe(const WindowSize& window) {
  return fmt::format("{} and {} of text", format_count(window.rows, "row", "rows"),
                     format_bytes(window.text_bytes));
}

}  // namespace

PressureGuard::Sources guard_sources(const JobSpec& job, EventPipe& events) {
  return {.read = [&job] { return run_memory(job); },
          .on_change =
              [&events](bool pressed, const HostMemory& memory) {
                events.send(MemoryPressure{.pressed = pressed,
                                           .used_percent = memory.used_percent(),
                                           .available_bytes = memory.available_bytes});
              }};
}

HostBudget host_budget(const WorkerContext& context, const JobUnit& unit,
                       const BatchPlan& batches) {
  const HardwareOptions& hardware = context.job.hardware;
  if (hardware.memory_pressure_percent == 0) return {};
  const HostMemory memory = run_memory(context.job);
  const bool on_gpu = batches.launch_tokens > 0;
  const HostBudget budget =
      plan_host_budget({.limit_bytes = memory.limit_bytes,
                        .used_bytes = memory.limit_bytes - memory.available_bytes,
                        .pressure_percent = hardware.memory_pressure_percent,
                        .workers = context.job.workers,
                        .threads = on_gpu ? 0 : batches.batches_at_once,
                        .batch_tokens = std::max(batches.budget_tokens, batches.longest_row_tokens),
                        .dim = unit.identity.dim,
                        .longest_row_bytes = unit.scan.longest_bytes,
                        .pinned_bytes = on_gpu ? pinned_bytes(unit, batches) : 0,
                        .cache_bytes = cache_bytes(context.job)});
  const WindowSize wanted = plan_window(unit, batches, {});
  const WindowSize window = plan_window(unit, batches, budget);
  const bool smaller = window != wanted;
  context.log(
      smaller ? LogLevel::kInfo : LogLevel::kDebug,
      fmt::format("{}: {} of {}, so at most {} are encoded at once{}", unit.identity.name,
                  describe(memory), format_bytes(memory.limit_bytes), describe(window),
                  smaller ? fmt::format("; the settings ask for {}", describe(wanted)) : ""));
  return budget;
}

}  // namespace encode
