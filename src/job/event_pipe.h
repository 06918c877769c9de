// The worker's side of the event pipe.
#pragma once

#include <mutex>

#include "encode/worker_event.h"

namespace encode {

// Any number of threads. A broken pipe (the supervisor is gone) ends the process: nobody is left to
// hear of anything.
class EventPipe {
 public:
  explicit EventPipe(int fd) : fd_(fd) {}
  void send(const WorkerEvent& event);

 private:
  std::mutex mutex_;
  int fd_;
};

}  // namespace encode
