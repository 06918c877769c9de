#include "supervisor/run_signals.h"

#include <csignal>
#include <cstring>
#include <fmt/format.h>

namespace encode {

RunSignals::RunSignals(const StopSignal* others, RunLog& log, Progress& progress)
    : others_(others), log_(log), progress_(progress) {
  if (others_ != nullptr) return;
  own_.emplace();
  listener_.emplace(*own_, [this](int number) { answer(number); });
}

// Called on the thread of the listener.
void RunSignals::answer(int number) {
  if (reading_) {
    progress_.clear();
    log_.warning("stopped",
                 fmt::format("stopped by signal {} ({}) while the inputs were read; this run has "
                             "encoded nothing yet",
                             number, ::strsignal(number)),
                 {{"signal", number}});
    end_now(number);
  }
  log_.warning("stopping",
               fmt::format("stopping after the batch in progress; {} to stop at once; rows that "
                           "are not yet saved are computed again",
                           number == SIGINT ? "press Ctrl-C again" : "send the signal again"),
               {{"signal", number}});
}

}  // namespace encode
