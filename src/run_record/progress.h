// Shows the progress of a run: a live line on a terminal, or a log line from time to time. Throws
// no Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "run_record/run_log.h"
#include "run_record/terminal.h"

namespace encode {

using Clock = std::chrono::steady_clock;

// The numbers in one progress line.
struct ProgressView {
  std::string stream;
  int64_t rows_done = 0;    // of this stream; these rows are computed
  int64_t rows_saved = -1;  // how many of these rows are saved; -1: not shown
  int64_t rows_total = 0;
  double tokens_per_second = 0;
  double seconds_left = -1;  // of the whole run; negative: unknown
};

// Returns "<name> [#####.....]<facts>" with the given part of the bar filled. The facts are
// separated by ", ". The line has at most `width` columns: first the bar shrinks, then the name is
// cut in the middle, then whole facts are left out, the last but one first. If `width` is 0, the
// line has no bar and no limit, for a log. `fraction` is from 0 to 1.
std::string progress_line(const std::string& name, double fraction, const std::string& facts,
                          size_t width);

// Returns "train_tc [#####.....]  43% 21,500/50,621 rows, 20,000 saved, 20.7k tokens/s, 3 m 05 s
// left". A run that is stopped keeps only the saved rows. `width` is as in progress_line().
std::string render_progress(const ProgressView& view, size_t width);

// Returns false for a run that shows no progress, because it shows only errors or writes JSON
// lines.
bool shows_progress(const LogOptions& options);

// Measures rows and tokens per second over the last 30 seconds. The rates are 0 until two samples
// are a second apart. Not thread-safe.
class RateMeter {
 public:
  void reset() { samples_.clear(); }
  // `rows` and `tokens` are totals, which must not decrease before the next reset().
  void add(Clock::time_point now, int64_t rows, int64_t tokens);
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

// Not thread-safe.
class Progress {
 public:
  // Shows nothing if `enabled` is false. `terminal` and `log` must outlive the Progress.
  Progress(Terminal& terminal, RunLog& log, bool enabled)
      : terminal_(terminal), log_(log), enabled_(enabled) {}

  // Shows a step of the run without numbers, such as "loading the model". Only on a live terminal.
  void step(const std::string& what);
  // Takes the stream and the rows of `view`; the rates are measured. `rows_left` counts the rows of
  // the whole run that are not encoded yet.
  void update(ProgressView view, int64_t rows_left);
  // Adds a measurement. `rows` and `tokens` are the totals of the current worker.
  void encoded(Clock::time_point now, int64_t rows, int64_t tokens) {
    rate_.add(now, rows, tokens);
  }
  // Clears the rates. Must be called when a new worker starts, because its totals begin at zero.
  void restart() { rate_.reset(); }

  double rows_per_second() const { return rate_.rows_per_second(); }
  double tokens_per_second() const { return rate_.tokens_per_second(); }
  double seconds_left() const;  // of the whole run; negative: unknown

  // Redraws the line at most ten times a second, or logs it: every ten seconds at first, and every
  // minute in a long run.
  void tick(Clock::time_point now);
  void clear() { terminal_.set_status(""); }

 private:
  Terminal& terminal_;
  RunLog& log_;
  const bool enabled_;
  RateMeter rate_;
  ProgressView view_;
  int64_t rows_left_ = 0;
  Clock::time_point drawn_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point logged_ = began_;
};

}  // namespace encode
