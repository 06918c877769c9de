// Refuses what certainly cannot run on a machine, before anything is loaded. What may fit is never
// refused; it only gets a warning. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/device.h"

#include "run_plan/memory/memory_estimate.h"

namespace encode {

// The host memory that all programs of a run may take together (`hardware.memory_limit`).
struct RunLimit {
  int64_t bytes = 0;    // 0: only the memory of the machine is a limit
  int64_t workers = 1;  // each gets an equal share, which must also hold the supervisor

  int64_t of_worker() const { return bytes / workers; }
};
// Returns the limit for messages: "2.0 GB (--memory-limit, hardware.memory_limit)".
std::string describe(const RunLimit& limit);

// The memory that has to hold a model.
struct MemoryLimit {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name = {};    // for messages: "this machine", "NVIDIA A100 80GB"
  int64_t total_bytes = 0;  // the whole card, or host memory with swap; 0: not known
  int64_t free_bytes = 0;   // now; 0: not known
  RunLimit run = {};        // for the host memory, also of a run on a GPU
  // The kind is kCpu, but a GPU holds the model if the run can use one.
  bool may_use_gpu = false;
};
// Returns the memory of this machine that a process may use, including swap space.
MemoryLimit host_limit();

// Throws Error kConfig "limit.memory" with the arithmetic if the weights and the smallest batch
// need more than MemoryLimit::total_bytes, or if a run with the smallest batch needs more host
// memory than MemoryLimit::run allows. The weights are taken from config.json, and are at least as
// large as the checkpoint. `where` names the model.
void require_memory(const MemoryRequest& request, const MemoryLimit& limit,
                    const std::string& where);

// Returns a sentence for the log if the estimate is above MemoryLimit::run or above the memory that
// is free now, or nullopt. What a run reads ahead does not count against MemoryLimit::run, because
// the workers read less ahead to stay within it (job/host_budget.h).
std::optional<std::string> memory_warning(const MemoryRequest& request, const MemoryLimit& limit);

// Throws Error kConfig "limit.batch" with the arithmetic if a batch of the planned size needs more
// memory than the limit has. Only `encode plan` calls it: a run halves its batches instead.
void require_batch(const MemoryRequest& request, const MemoryLimit& limit);

}  // namespace encode
