// The job, the event pipe and the stop request, which all parts of the worker use.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "encode/job.h"

#include "base/stopwatch.h"
#include "job/event_pipe.h"
#include "job/pressure_guard.h"
#include "job/worker.h"

namespace encode {

// The objects that it refers to must outlive it. Thread-safe.
struct WorkerContext {
  const JobSpec& job;
  EventPipe& events;
  const std::atomic<bool>& stop;   // a signal handler sets it; the worker reads it after each batch
  WrapEncoder wrap_encoder = {};   // may be empty
  PressureGuard* guard = nullptr;  // null until the job is read, and in tests
  Stopwatch started = {};          // runs since the worker began

  bool stopped() const { return stop.load(std::memory_order_relaxed); }
  const JobUnit& unit(int64_t number) const { return job.units[static_cast<size_t>(number)]; }
  void log(LogLevel level, std::string message) const {
    events.send(LogLine{.level = level, .message = std::move(message)});
  }
};

}  // namespace encode
