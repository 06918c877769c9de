// SIGINT, SIGTERM, SIGHUP and SIGUSR1 as a request to stop that a poll() loop can see.
#pragma once

#include "base/file.h"

namespace encode {

// While one exists, the first of these signals is kept as a request; the second one ends the
// process at once, as if none had been caught (a worker then dies with its parent). A signal that
// was ignored stays ignored, so that nohup works. SIGPIPE is ignored: a run survives the reader of
// its log. At most one at a time.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  int number() const;                         // 0: none came
  int fd() const { return read_end_.get(); }  // readable once a signal came; never read from it

 private:
  UniqueFd read_end_;
  UniqueFd write_end_;
};

}  // namespace encode
