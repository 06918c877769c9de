// Finds the largest batch that fits into a share of the memory of a device.
#pragma once

#include <cstdint>
#include <string_view>

#include "encode/device.h"

#include "run_plan/memory/memory_estimate.h"

namespace encode {

inline constexpr double kSafetyMargin = 0.85;  // the share of the free memory that a plan may use

// The memory that a plan may count on.
struct MemoryRoom {
  DeviceKind kind = DeviceKind::kCpu;
  int64_t free_bytes = 0;   // the memory that no other process uses
  int64_t total_bytes = 0;  // of the card, or of the host
  double safety_margin = kSafetyMargin;
  double correction = 1;  // measured / estimated, as `encode plan --profile` has found it
  int64_t threads = 1;    // the CPU threads that may compute; 1 on a GPU

  int64_t usable_bytes() const;  // free_bytes x safety_margin
};

// Why a planned batch is not larger.
enum class BatchLimit {
  kMemory,  // a larger one does not fit
  kTexts,   // the rows of a window do not fill a larger one
  kRange,   // a batch counts its tokens in 32 bits
  kFixed,   // the command line fixes it
  kCache,   // on a CPU a larger one does not fit into the cache of a core
  kNothingFits,
};
std::string_view to_string(BatchLimit limit);

struct PlannedBatch {
  BatchPlan batches;
  int64_t batch_size = 1;  // rows of max_length tokens that fill a batch, for `batch_size`
  int64_t threads = 1;
  BatchLimit limit = BatchLimit::kMemory;
  MemoryEstimate memory;  // of the device, with the correction
  // The share of MemoryRoom::total_bytes, 0 to 1.
  double share = 0;
};

// Plans the batches of one stream. The request's `batches` need only `launch_tokens`, which is 0 on
// a CPU. If not even the smallest batch fits, the result has the smallest batch and kNothingFits.
PlannedBatch plan_batch(const MemoryRequest& request, const MemoryRoom& room);

// The plan with exactly the batches of the request.
PlannedBatch fixed_batch(const MemoryRequest& request, const MemoryRoom& room);

// The estimate for these batches in this room: estimate_cpu() or estimate_cuda(), times the
// correction.
MemoryEstimate corrected_estimate(const MemoryRequest& request, const MemoryRoom& room);

}  // namespace encode
