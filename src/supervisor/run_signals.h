// Handles the signals that end a run, and reports what happens to the run.
#pragma once

#include <atomic>
#include <optional>

#include "base/stop_signal.h"
#include "run_record/progress.h"
#include "run_record/run_log.h"

namespace encode {

// Catches the signals while it exists, and says at once what becomes of the run.
// - While the inputs are read, a signal ends the process. Reading may take minutes and cannot look
//   at a StopSignal, and nothing is lost if it ends anywhere.
// - Later the owner must look at stop().
class RunSignals {
 public:
  // If `others` is not null, the caller of the run catches the signals: stop() returns `others`,
  // and the object does nothing else. All arguments must outlive the object.
  RunSignals(const StopSignal* others, RunLog& log, Progress& progress);

  const StopSignal& stop() const { return others_ != nullptr ? *others_ : *own_; }
  // Must be called when the inputs are read.
  void inputs_are_read() { reading_ = false; }
  // When it returns, the message about a signal that has come is in the log, and the object writes
  // no other message.
  void finish() { listener_.reset(); }

 private:
  void answer(int number);

  const StopSignal* const others_;
  RunLog& log_;
  Progress& progress_;
  std::atomic<bool> reading_ = true;
  std::optional<StopSignal> own_;
  std::optional<StopListener> listener_;  // the last member, because its thread uses the others
};

}  // namespace encode
