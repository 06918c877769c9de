// Refuses what certainly cannot run on a machine, before anything is loaded. What may fit is never
// refused here: an estimate that is too high by a little only gives a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/device.h"

#include "run_plan/memory/memory_estimate.h"

namespace encode {

// The memory in which a model has to be held.
struct MemoryLimit {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name = {};    // for messages: "this machine", "NVIDIA A100 80GB"
  int64_t total_bytes = 0;  // the whole card; host memory with swap; 0: not known
  int64_t free_bytes = 0;   // now
};
// The memory of this machine that a process may use, with the swap space.
MemoryLimit host_limit();

// Throws Error kConfig "limit.memory" with the arithmetic if the weights and the smallest batch
// need more than MemoryLimit::total_bytes. The weights are those that config.json describes, and at
// least those of the checkpoint. `where` names the model.
void require_memory(const MemoryRequest& request, const MemoryLimit& limit,
                    const std::string& where);

// Returns a sentence for the log if the estimate is above the memory that is free now, or nullopt.
std::optional<std::string> memory_warning(const MemoryRequest& request, const MemoryLimit& limit);

// Throws Error kConfig "limit.batch" with the arithmetic if a batch of the planned size needs more
// than the limit has. Only for a plan: a run halves its batches instead.
void require_batch(const MemoryRequest& request, const MemoryLimit& limit);

}  // namespace encode
