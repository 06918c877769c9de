// The model's products alone, timed by a worker of their own.
#pragma once

#include <vector>

#include "encode/batch_plan.h"
#include "encode/device.h"
#include "encode/job.h"
#include "encode/product_rates.h"

#include "supervisor/stop_signal.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct ProductSession {
  DeviceFacts device;
  ProductRates rates;
  std::vector<BatchPlan> plans;  // by unit of the job
};

// `job` has product_seconds above 0. The worker times the products of its first unit and plans the
// batches of every unit. The job's file is written into `job.cache_dir`. Throws
// the worker's Error, whatever WorkerSession throws, and Stopped.
ProductSession time_products(const JobSpec& job, WorkerOptions worker, const StopSignal& stop);

}  // namespace encode
