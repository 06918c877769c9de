// Times the matrix products of a model alone, in a worker process of its own.
#pragma once

#include "encode/device.h"
#include "encode/job.h"
#include "encode/product_rates.h"

#include "supervisor/stop_signal.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct ProductSession {
  DeviceFacts device;
  ProductRates rates;
};

// `job` must have one unit and product_seconds > 0. Writes the job file into `job.cache_dir`.
// Throws the Error of the worker, what WorkerSession throws, and Stopped if a signal arrives.
ProductSession time_products(const JobSpec& job, WorkerOptions worker, const StopSignal& stop);

}  // namespace encode
