// The worker's end of the event pipe.
#pragma once

#include <mutex>

#include "encode/worker_event.h"

namespace encode {

// Thread-safe. If the pipe is broken, send() ends the process with kTempFail, because the
// supervisor has ended.
class EventPipe {
 public:
  // The caller keeps `fd` open.
  explicit EventPipe(int fd) : fd_(fd) {}
  void send(const WorkerEvent& event);

 private:
  std::mutex mutex_;
  int fd_;
};

}  // namespace encode
