// What the worker knows about the memory of its host.
#pragma once

#include <cstdint>

#include "encode/batch_plan.h"
#include "encode/job.h"

#include "job/host_budget.h"
#include "job/pressure_guard.h"
#include "job/worker_context.h"

namespace encode {

// Returns where the guard of this worker reads: the host, within
// HardwareOptions::memory_limit_bytes for this process and the supervisor. The guard sends a
// MemoryPressure for each change. Both references must outlive the guard.
PressureGuard::Sources guard_sources(const JobSpec& job, EventPipe& events);

// Returns the budget of the worker for a unit, from the memory that is in use now. So the model
// must be loaded, and no window may exist. Logs the size of the windows, as "info" if it is
// less than the settings of the unit ask for. Without a guard there is no limit.
HostBudget host_budget(const WorkerContext& context, const JobUnit& unit, const BatchPlan& batches);

}  // namespace encode
