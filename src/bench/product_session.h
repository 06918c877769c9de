// The model's products alone, timed by a worker of their own.
#pragma once

#include <string>

#include "encode/job.h"

#include "supervisor/stop_signal.h"
#include "supervisor/worker_session.h"

namespace encode {

struct ProductSession {
  std::string device;  // as Encoder::device_name()
  ProductRates rates;
};

// `job` has one unit, and product_seconds above 0; its file is written into `job.cache_dir`. Throws
// the worker's Error, whatever WorkerSession throws, and Stopped.
ProductSession time_products(const JobSpec& job, WorkerOptions worker, const StopSignal& stop);

}  // namespace encode
