// The worker's end of the event pipe.
#pragma once

#include <mutex>
#include <string>

#include "encode/worker_event.h"

#include "protocol/same_build.h"

namespace encode {

// Thread-safe. If the pipe is broken, the supervisor has ended, and send() ends the process with
// kTempFail.
class EventPipe {
 public:
  // The caller keeps `fd` open.
  explicit EventPipe(int fd) : fd_(fd) {}
  // Must be called before send(): it tells the supervisor the build of the worker.
  void greet() { write_line(greeting()); }
  void send(const WorkerEvent& event) { write_line(to_json_line(event)); }

 private:
  void write_line(const std::string& line);

  std::mutex mutex_;
  int fd_;
};

}  // namespace encode
