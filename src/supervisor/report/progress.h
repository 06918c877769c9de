// How far a run is: rate, time left, one live line on a terminal or a plain line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "supervisor/report/run_log.h"
#include "supervisor/report/terminal.h"

namespace encode {

using Clock = std::chrono::steady_clock;

// What one progress line shows.
struct ProgressView {
  std::string stream;
  int64_t rows_done = 0;  // of this stream
  int64_t rows_total = 0;
  double tokens_per_second = 0;
  double seconds_left = -1;  // of the whole run; negative: not known yet
};

// "train_tc [#####.....]  43% 21,500/50,621 rows, 20.7k tokens/s, 3 m 05 s left", at most `width`
// columns: the bar shrinks first. `width` 0: without a bar, for a log.
std::string render_progress(const ProgressView& view, size_t width);

// Rows and tokens a second over the last half minute.
class RateMeter {
 public:
  void reset() { samples_.clear(); }
  void add(Clock::time_point now, int64_t rows,
           int64_t tokens);  // totals, never falling between resets
  double rows_per_second() const;
  double tokens_per_second() const;

 private:
  struct Sample {
    Clock::time_point time;
    int64_t rows;
    int64_t tokens;
  };
  double per_second(int64_t amount) const;

  std::deque<Sample> samples_;
};

// One thread.
class Progress {
 public:
  // `enabled` false: nothing is ever shown.
  Progress(Terminal& terminal, RunLog& log, bool enabled)
      : terminal_(terminal), log_(log), enabled_(enabled) {}

  // `rows_left`: of the whole run, this stream included.
  void update(const std::string& stream, int64_t rows_done, int64_t rows_total, int64_t rows_left);
  // `rows`, `tokens`: encoded by this worker so far.
  void encoded(Clock::time_point now, int64_t rows, int64_t tokens) {
    rate_.add(now, rows, tokens);
  }
  // A new worker counts from zero.
  void restart() { rate_.reset(); }

  void tick(Clock::time_point now);  // redraws at most ten times a second, logs every ten seconds
  void clear() { terminal_.set_status(""); }

 private:
  Terminal& terminal_;
  RunLog& log_;
  const bool enabled_;
  RateMeter rate_;
  ProgressView view_;
  int64_t rows_left_ = 0;
  Clock::time_point drawn_;
  Clock::time_point logged_ = Clock::now();
};

}  // namespace encode
