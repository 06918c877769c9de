#include "run_plan/memory/planned_batch.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"
#include "base/units.h"

namespace encode {
namespace {

// The most tokens in a batch: PackedBatch::cu_seqlens counts them in 32 bits.
constexpr int64_t kMostTokens = int64_t{1} << 30;

constexpr NameTable<BatchLimit, 7> kBatchLimits = {
    {{"a larger batch does not fit", BatchLimit::kMemory},
     {"these texts do not fill a larger batch", BatchLimit::kTexts},
     {"a batch counts its tokens in 32 bits", BatchLimit::kRange},
     {"the command line asks for it", BatchLimit::kFixed},
     {"the command line asks for another size", BatchLimit::kOther},
     {"a larger batch would leave the cache of a core", BatchLimit::kCache},
     {"not even the smallest batch fits", BatchLimit::kNothingFits}}};

MemoryRequest with_budget(const MemoryRequest& request, int64_t tokens) {
  MemoryRequest changed = request;
  changed.batches.budget_tokens = tokens;
  return changed;
}

PlannedBatch finish(const MemoryRequest& request, const MemoryRoom& room, BatchLimit limit) {
  PlannedBatch planned;
  planned.batches = request.batches;
  planned.batches.longest_row_tokens = request.effective.max_length;
  planned.threads = request.batches.batches_at_once;
  planned.limit = limit;
  const int64_t longest = std::max<int64_t>(1, request.effective.max_length);
  planned.batch_size = (request.batches.budget_tokens + longest - 1) / longest;
  planned.memory = corrected_estimate(request, room);
  if (room.total_bytes > 0)
    planned.share =
        static_cast<double>(planned.memory.total_bytes()) / static_cast<double>(room.total_bytes);
  return planned;
}

bool fits(const MemoryRequest& request, const MemoryRoom& room) {
  return corrected_estimate(request, room).total_bytes() <= room.usable_bytes();
}

PlannedBatch plan_on_cpu(MemoryRequest request, const MemoryRoom& room) {
  const SpeedOptions usual;
  const DeviceFacts device = {.kind = DeviceKind::kCpu,
                              .threads = std::max<int64_t>(1, room.threads)};
  request.batches = plan_batches(usual, 0, request.effective.max_length, device);
  while (!fits(request, room) && request.batches.batches_at_once > 1)
    --request.batches.batches_at_once;
  const bool fewer = request.batches.batches_at_once < device.threads;
  const BatchLimit limit = !fits(request, room) ? BatchLimit::kNothingFits
                           : fewer              ? BatchLimit::kMemory
                                                : BatchLimit::kCache;
  return finish(request, room, limit);
}

}  // namespace

std::string_view to_string(BatchLimit limit) { return name_of(kBatchLimits, limit); }

int64_t MemoryRoom::usable_bytes() const {
  const auto share = static_cast<int64_t>(static_cast<double>(free_bytes) * safety_margin);
  return run_bytes > 0 ? std::min(run_bytes, share) : share;
}

bool MemoryRoom::limited_by_run() const { return run_bytes > 0 && usable_bytes() == run_bytes; }

std::string usable_text(const MemoryRoom& room) {
  if (room.limited_by_run()) return "from --memory-limit (hardware.memory_limit)";
  return fmt::format("{:.0f} % of the {} that are free", 100 * room.safety_margin,
                     format_bytes(room.free_bytes));
}

MemoryEstimate corrected_estimate(const MemoryRequest& request, const MemoryRoom& room) {
  MemoryEstimate estimate =
      room.kind == DeviceKind::kCpu ? estimate_cpu(request) : estimate_cuda(request);
  for (MemoryPart& part : estimate.parts)
    part.bytes = static_cast<int64_t>(static_cast<double>(part.bytes) * room.correction);
  return estimate;
}

PlannedBatch fixed_batch(const MemoryRequest& request, const MemoryRoom& room) {
  return finish(request, room, fits(request, room) ? BatchLimit::kFixed : BatchLimit::kNothingFits);
}

std::string explain_batches(const AskedBatch& asked, const SpeedOptions& speed,
                            const BatchPlan& batches) {
  const int64_t budget = batches.budget_tokens;
  const int64_t of_rows = asked.rows * batches.longest_row_tokens;
  const auto most = std::max(of_rows, asked.tokens);
  if (most == 0) return "";
  if (batches.launch_tokens == 0) {  // a CPU
    if (most <= budget) return "";
    return fmt::format(
        "a batch on a CPU has at most {} tokens, because more would leave the cache of a core",
        format_count(budget));
  }
  const int64_t next = budget + batches.launch_tokens;
  if (of_rows >= next) {
    return fmt::format(
        "--batch-size {} stands for {} tokens, but {} limits a batch to {} tokens; raise it as "
        "well",
        asked.rows, format_count(of_rows),
        speed.batch_tokens > 0 ? "batch_tokens" : "the default of --batch-tokens",
        format_count(budget));
  }
  if (asked.tokens >= next) {
    return fmt::format(
        "--batch-tokens {} is not reached, because batch_size limits a batch to {} of {} tokens; "
        "--batch-size 0 lifts this limit",
        asked.tokens, format_count(speed.batch_size, "row", "rows"),
        format_count(batches.longest_row_tokens));
  }
  if (of_rows == budget || asked.tokens == budget) return "";
  return fmt::format("a GPU computes whole launches of {} tokens, so a batch has {}",
                     format_count(batches.launch_tokens), format_count(budget));
}

PlannedBatch plan_batch(const MemoryRequest& request, const MemoryRoom& room) {
  if (room.kind == DeviceKind::kCpu) return plan_on_cpu(request, room);
  const int64_t launch = std::max<int64_t>(1, request.batches.launch_tokens);
  const auto launches = [&](int64_t count) { return with_budget(request, count * launch); };
  if (!fits(launches(1), room)) return finish(launches(1), room, BatchLimit::kNothingFits);
  const int64_t most = kMostTokens / launch;
  int64_t low = 1;  // the largest size that is known to fit
  int64_t high = most + 1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(launches(middle), room) ? low : high) = middle;
  }
  // Batches that are larger than a window need no more memory, because nothing fills them.
  const int64_t window = largest_window(launches(low)).tokens;
  const int64_t filled = std::max<int64_t>(1, (window + launch - 1) / launch);
  if (request.texts.tokens > 0 && filled < low)
    return finish(launches(filled), room, BatchLimit::kTexts);
  return finish(launches(low), room, low == most ? BatchLimit::kRange : BatchLimit::kMemory);
}

}  // namespace encode
