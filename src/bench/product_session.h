// The model's products alone, timed by a worker of their own.
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

// `job` has one unit, and product_seconds above 0; its file is written into `job.cache_dir`. Throws
// the worker's Error, whatever WorkerSession throws, and Stopped.
ProductSession time_products(const JobSpec& job, WorkerOptions worker, const StopSignal& stop);

}  // namespace encode
