// Times the matrix products of a model alone, in a worker process of its own.
#pragma once

#include <vector>

#include "encode/batch_plan.h"
#include "encode/device.h"
#include "encode/job.h"
#include "encode/product_rates.h"

#include "base/stop_signal.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct ProductSession {
  DeviceFacts device;
  ProductRates rates;
  std::vector<BatchPlan> plans;  // by unit of the job
};

// Runs a worker, which times the matrix products of the job's first unit and plans the batches of
// every unit. `job` must have product_seconds > 0. Writes the job file into `job.cache_dir`. Throws
// the Error of the worker, what WorkerSession throws, and Stopped if a signal arrives.
ProductSession time_products(const JobSpec& job, WorkerOptions worker, const StopSignal& stop);

}  // namespace encode
