// The memory of the worker's host: the sources of its PressureGuard, and its budget. The functions
// throw no Error.
#pragma once

#include "encode/batch_plan.h"
#include "encode/job.h"

#include "job/host_budget.h"
#include "job/pressure_guard.h"
#include "job/worker_context.h"

namespace encode {

// Returns the sources of the guard of this worker. The guard reads the host's memory, limited to
// HardwareOptions::memory_limit_bytes for worker and supervisor together. It sends MemoryPressure
// at each change. Both references must outlive the guard.
PressureGuard::Sources guard_sources(const JobSpec& job, EventPipe& events);

// Returns the budget of the worker for a unit. It is computed from the memory in use, so the model
// must be loaded, and no window may exist yet. Logs the size of the windows, with the level "info"
// if it is less than the settings of the unit ask for. Without a guard the budget has no limit.
HostBudget host_budget(const WorkerContext& context, const JobUnit& unit, const BatchPlan& batches);

}  // namespace encode
