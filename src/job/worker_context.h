// What every part of the worker has in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "encode/job.h"

#include "job/event_pipe.h"

namespace encode {

// Borrows what it refers to. Any number of threads.
struct WorkerContext {
  const JobSpec& job;
  EventPipe& events;
  const std::atomic<bool>& stop;  // set by a signal handler; looked at after every batch

  bool stopped() const { return stop.load(std::memory_order_relaxed); }
  const JobUnit& unit(int64_t number) const { return job.units[static_cast<size_t>(number)]; }
  void log(std::string level, std::string message) const {
    events.send(LogLine{.level = std::move(level), .message = std::move(message)});
  }
};

}  // namespace encode
