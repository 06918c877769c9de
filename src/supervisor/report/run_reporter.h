// Turns the worker's events into log lines, the progress line and status.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/worker_event.h"

#include "base/stopwatch.h"
#include "supervisor/plan/plan.h"
#include "supervisor/report/progress.h"
#include "supervisor/report/run_log.h"
#include "supervisor/report/status_file.h"

namespace encode {

// One unit of the current worker's job, and how far it is.
struct UnitProgress {
  size_t stream = 0;  // index into RunPlan::streams
  std::string name;
  std::string input_path;
  int64_t rows = 0;
  int64_t rows_before = 0;  // committed when this worker started
  int64_t rows_done = 0;    // rows_before and the rows that this worker has encoded
  int64_t chunks = 0;
  bool chunk_files = true;  // false: standard mode
};

// The tokens of a stream that all workers of this run have encoded, and the time they took.
struct StreamRate {
  int64_t tokens = 0;
  double seconds = 0;
};

// Not thread-safe.
class RunReporter {
 public:
  // `streams` is the number of streams in the plan. The other arguments must outlive the reporter.
  RunReporter(RunLog& log, Progress& progress, StatusFile& status, size_t streams)
      : log_(log), progress_(progress), status_(status), rates_(streams) {}

  void worker_started(std::vector<UnitProgress> units);  // in the order of JobSpec::units
  void event(const WorkerEvent& event);
  void output(std::string_view line);  // a line that the worker printed
  // `line` came through the event pipe and is not a valid event; `why` is the reason.
  void garbage(std::string_view line, const std::string& why);
  void tick(Clock::time_point now);  // must be called several times a second
  void worker_ended();

  // Writes `state` to status.json at once. `error` may be null.
  void state(const std::string& state, const ErrorDetail* error);
  // Returns "chunk 3/51 (samples 2000-3000)". `unit` is a unit of the current worker.
  std::string chunk_name(int64_t unit, int64_t chunk, RowRange rows) const;
  // `stream` is below the number of streams. The reference is valid as long as the reporter.
  const StreamRate& rate(size_t stream) const { return rates_[stream]; }
  int64_t worker_peak_bytes() const { return worker_peak_bytes_; }
  int64_t restarts = 0;  // for status.json

 private:
  void on(const ModelLoaded& event);
  void on(const UnitStarted& event);
  void on(const ChunkStarted& event);
  void on(const BatchDone& event);
  void on(const ChunkDone& event);
  void on(const UnitDone& event);
  void on(const LogLine& line);
  // The reporter ignores these events. `encode bench` reads ProductsTimed, and WorkerSession turns
  // WorkerFailed and WorkerFinished into the WorkerOutcome.
  static void on(const ProductsTimed& /*event*/) {}
  static void on(const WorkerFailed& /*event*/) {}
  static void on(const WorkerFinished& /*event*/) {}
  UnitProgress& unit_of(int64_t unit) { return units_[static_cast<size_t>(unit)]; }
  void measure(int64_t unit);
  Json status() const;

  RunLog& log_;
  Progress& progress_;
  StatusFile& status_;
  std::vector<StreamRate> rates_;
  std::vector<UnitProgress> units_;
  int64_t unit_ = -1;  // the unit that is being encoded; -1: none
  int64_t chunk_ = -1;
  int64_t unit_rows_ = 0;  // the rows of `unit_` that this worker has encoded
  int64_t unit_tokens_ = 0;
  int64_t earlier_rows_ = 0;  // the rows of the units that this worker has finished
  int64_t earlier_tokens_ = 0;
  int64_t worker_peak_bytes_ = 0;
  int64_t garbage_lines_ = 0;
  Stopwatch unit_watch_;
  Clock::time_point memory_logged_ = Clock::now();
};

}  // namespace encode
