// Starts a worker that loads the models and encodes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/config.h"
#include "encode/device.h"

#include "preflight/experiment.h"
#include "preflight/findings.h"
#include "base/stop_signal.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct WorkerCheck {
  const WorkerOptions& worker;
  const StopSignal& stop;
  std::string scratch;  // an empty directory for the files of the worker
  // The directory whose self_test.json is that of earlier runs; "": none.
  std::string cache_dir;
  // The worker opens the embedding cache in its directory; "": there is none to open.
  EmbeddingCacheOptions embedding_cache;
};

// What the worker told.
struct WorkerFacts {
  std::optional<DeviceFacts> device;  // nullopt: the worker could not be used
  int64_t peak_bytes = 0;             // of its resident memory
};

// The worker opens the device, loads each model, tries its defences (job/defences.h) and compares
// the vectors of fixed texts with those of earlier runs. A failure becomes a red finding. Throws
// Stopped if a signal comes.
WorkerFacts check_worker(const WorkerCheck& check, const HardwareOptions& hardware,
                         const CheckedExperiment& experiment, PreflightFindings& findings);

}  // namespace encode
