// Finds the largest batch that fits into a share of the memory of a device. Any thread may call
// these functions. They throw no Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "encode/config.h"
#include "encode/device.h"

#include "run_plan/memory/memory_estimate.h"

namespace encode {

inline constexpr double kSafetyMargin = 0.85;  // the share of the free memory that a plan may use

// The memory that a plan may use.
struct MemoryRoom {
  DeviceKind kind = DeviceKind::kCpu;
  int64_t free_bytes = 0;   // the memory that no other process uses
  int64_t total_bytes = 0;  // the memory of the card, or of the host
  // The most that the worker and the supervisor may take of a host's memory
  // (RunLimit::of_worker()); 0: no such limit.
  int64_t run_bytes = 0;
  double safety_margin = kSafetyMargin;
  double correction = 1;  // measured / estimated, as `encode plan --profile` has found it
  int64_t threads = 1;    // the CPU threads that may compute; 1 on a GPU

  // Returns free_bytes x safety_margin, or run_bytes if that is less. No other process takes memory
  // of the run's own limit, so the margin does not apply to it.
  int64_t usable_bytes() const;
  bool limited_by_run() const;  // usable_bytes() is run_bytes
};
// Returns where usable_bytes() comes from: "85 % of the 24.0 GB that are free".
std::string usable_text(const MemoryRoom& room);

// Why a planned batch is not larger.
enum class BatchLimit {
  kMemory,  // a larger one does not fit
  kTexts,   // the rows of a window do not fill a larger one
  kRange,   // a batch counts its tokens in 32 bits
  kFixed,   // the command line fixes it
  kOther,   // the command line asks for another size; see explain_batches()
  kCache,   // on a CPU a larger one does not fit into the cache of a core
  kNothingFits,
};
std::string_view to_string(BatchLimit limit);

struct PlannedBatch {
  BatchPlan batches;
  int64_t batch_size = 1;  // rows of max_length tokens that fill a batch, for `batch_size`
  int64_t threads = 1;
  BatchLimit limit = BatchLimit::kMemory;
  MemoryEstimate memory;  // the memory of the device, with the correction
  // The share of MemoryRoom::total_bytes, 0 to 1.
  double share = 0;
};

// Plans the batches of one stream. The request's `batches` need only `launch_tokens`, which is 0 on
// a CPU. If not even the smallest batch fits, the result has the smallest batch and kNothingFits.
PlannedBatch plan_batch(const MemoryRequest& request, const MemoryRoom& room);

// Returns the plan with exactly the batches of the request.
PlannedBatch fixed_batch(const MemoryRequest& request, const MemoryRoom& room);

// The limits of a batch that flags set; 0: no flag sets it.
struct AskedBatch {
  int64_t rows = 0;    // --batch-size
  int64_t tokens = 0;  // --batch-tokens
};
// Returns a sentence that says why `batches`, which plan_batches() has made of `speed`, are not of
// the size that was asked for; "" if they are.
std::string explain_batches(const AskedBatch& asked, const SpeedOptions& speed,
                            const BatchPlan& batches);

// Returns estimate_cpu() or estimate_cuda(), times the correction of the room.
MemoryEstimate corrected_estimate(const MemoryRequest& request, const MemoryRoom& room);

}  // namespace encode
