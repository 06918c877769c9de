#include "encode/batch_plan.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/units.h"

namespace encode {
namespace {

// The budget of a batch on a CPU, on which each thread computes a batch of its own. The activations
// of 512 tokens stay in the cache of the core.
constexpr int64_t kCpuBudgetTokens = 512;
// The default budget of a batch on a GPU. It keeps the largest GPU busy even with the smallest
// model.
constexpr int64_t kGpuBudgetTokens = 16384;
// The number of batches for each thread in one call of encode(). At the end of a call a thread
// waits for the other threads: on average for half a batch, which is about 3 % of the time of 16
// batches.
constexpr int64_t kWindowBatches = 16;

int64_t whole_launches(int64_t tokens, int64_t launch) {
  return std::max(tokens / launch, int64_t{1}) * launch;
}

}  // namespace

// A matrix product is computed in tiles. With 384 columns, it needs 16,384 rows (tokens) to have
// several tiles for each core of the largest GPU. With more columns, it needs fewer rows.
int64_t launch_tokens(int64_t hidden_size) {
  constexpr int64_t kOutputs = int64_t{384} * 16384;
  constexpr int64_t kLeast = 2048;
  int64_t tokens = kGpuBudgetTokens;
  while (tokens > kLeast && tokens * hidden_size > kOutputs) tokens /= 2;
  return tokens;
}

BatchPlan plan_batches(const SpeedOptions& speed, int64_t launch_tokens, int64_t longest_row_tokens,
                       const DeviceFacts& device) {
  const bool on_cpu = device.kind == DeviceKind::kCpu;
  int64_t budget = speed.batch_tokens > 0 ? speed.batch_tokens : kGpuBudgetTokens;
  if (speed.batch_size > 0) budget = std::min(budget, speed.batch_size * longest_row_tokens);
  return {.budget_tokens =
              on_cpu ? std::min(budget, kCpuBudgetTokens) : whole_launches(budget, launch_tokens),
          .launch_tokens = on_cpu ? 0 : launch_tokens,
          .longest_row_tokens = longest_row_tokens,
          .batches_at_once = device.threads};
}

BatchPlan halved(const BatchPlan& plan) {
  BatchPlan half = plan;
  const int64_t least = std::max(plan.launch_tokens, int64_t{1});
  half.budget_tokens = whole_launches(plan.budget_tokens / 2, least);
  return half;
}

std::string describe(const BatchPlan& plan) {
  const std::string launches =
      plan.launch_tokens > 0
          ? fmt::format(" ({} at a time on the GPU)", format_count(plan.launch_tokens))
          : "";
  return fmt::format("batches of at most {} tokens{}, rows of at most {}",
                     format_count(plan.budget_tokens), launches,
                     format_count(plan.longest_row_tokens));
}

int64_t window_tokens(const BatchPlan& plan) {
  return kWindowBatches * plan.budget_tokens * plan.batches_at_once;
}

int64_t window_rows(int64_t text_bytes) {
  constexpr int64_t kRows = 4096;
  constexpr int64_t kTextBytesOfRow = 4096;
  return std::max(kRows, text_bytes / kTextBytesOfRow);
}

}  // namespace encode
