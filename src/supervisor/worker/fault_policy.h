// Decides what happens after a worker has failed: whether another worker is started, with which
// rows it begins, and which row is set aside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/job.h"

#include "supervisor/worker/fault_memory.h"

namespace encode {

// Returns the error of a run whose last worker has failed with `cause`, without progress in any of
// its starts. The exit code of a lack of host memory becomes kOsError: another start of the run
// would fail as these have.
ErrorDetail after_last_restart(ErrorDetail cause);

// The first failure of a window may be an accident, so the next worker encodes the window again. If
// the next window was on the device too, both are suspected, and the next worker encodes one after
// the other (JobUnit::alone). If the same window fails again, the next workers search the row that
// makes them fail (JobUnit::probe). A row that fails twice alone is set aside. If the search finds
// no row, the next failure of the window ends the run.
//
// `worker` is the number of a device of the run: 0 if there is only one. What is known of rows
// counts for all devices. Each device has its own count of restarts and of rows that failed alone,
// because only one of the devices may be broken. Therefore a row that has failed alone on one of
// several devices is blamed only when it also fails alone on another device. One device at a time
// searches in a stream; the workers that start meanwhile on other devices avoid these rows. Not
// thread-safe.
class FaultPolicy {
 public:
  static constexpr int64_t kSearchAfterFailures = 2;
  static constexpr int64_t kMaxWindowFailures = 3;
  static constexpr int64_t kMaxAloneFailures = 2;
  // If this number of consecutive rows fail alone, the device counts as broken, and not the rows.
  static constexpr int64_t kMaxCulprits = 3;
  // What a search needs to find a row that kills every worker: the least max_restarts, and the
  // number of workers for a window of 1024 rows.
  static constexpr int64_t kSearchRestarts = 3;
  static constexpr int64_t kSearchWorkers = 6;

  // `memory` must outlive the policy.
  FaultPolicy(int64_t max_restarts, double first_delay_seconds, FaultMemory& memory)
      : max_restarts_(max_restarts), first_delay_seconds_(first_delay_seconds), memory_(memory) {}

  // Sets the number of devices that are not lost.
  void set_devices(int64_t devices) { devices_ = devices; }

  // Must be called when the worker has reported these events.
  void window_started(const std::string& stream, size_t worker = 0);
  // Must be called when rows were encoded, in a part of the probe or in a chunk.
  void rows_encoded(size_t worker = 0) { counts_[worker].culprits = 0; }
  void rows_set_aside(const std::string& stream, const std::vector<SetAsideRow>& rows);
  void committed(const std::string& stream, RowRange rows, size_t worker = 0);
  // Must be called when a worker has ended, after decide().
  void worker_ended(size_t worker);
  // Must be called when every row of the stream is committed.
  void finished(const std::string& stream);

  struct Failure {
    std::string stream = {};  // "" if the worker failed before its first window
    RowRange rows = {};       // the rows of the window, or of the part of the probe
    RowRange ahead = {};      // WindowStarted::ahead
    bool probing = false;
    ErrorDetail cause;
    size_t worker = 0;
  };
  struct Decision {
    double delay_seconds = 0;  // the time until the next worker starts; see restart()
    bool searching = false;    // the next worker searches for the row
    std::optional<SetAsideRow> culprit = {};
  };
  // Throws Error if this device must have no other worker:
  //   kInternal "worker.poison_chunk"  the window has failed kMaxWindowFailures times, and a search
  //                                    has found no row to blame
  //   kInternal "worker.every_row"     kMaxCulprits rows failed alone, and none succeeded
  //   after_last_restart(cause)        max_restarts workers were started without progress
  Decision decide(const Failure& failure);
  // Does the same for a failure that no row is blamed for. Returns the seconds until the next
  // worker: first_delay_seconds, doubled for every restart without progress, at most 60.
  double restart(const ErrorDetail& cause, size_t worker = 0);

  // Copies what the worker must know about earlier failures to its unit.
  void prepare(const std::string& stream, JobUnit& unit, size_t worker = 0);
  // Returns the restarts since the last progress.
  int64_t restarts(size_t worker = 0) const;

 private:
  struct Counts {
    int64_t restarts = 0;
    int64_t culprits = 0;  // rows that failed alone since a row was encoded
  };
  Decision narrow(const Failure& failure);
  std::optional<SetAsideRow> blame(StreamFaults& faults, const Failure& failure);
  bool searches(const std::string& stream, size_t worker) const;
  bool searched_by_other(const std::string& stream, size_t worker) const;
  void end_search(const std::string& stream);

  const int64_t max_restarts_;
  const double first_delay_seconds_;
  FaultMemory& memory_;
  std::map<size_t, Counts> counts_;          // by worker
  std::map<std::string, size_t> searchers_;  // stream -> the worker that searches in it
  // Stream -> the worker on whose device a single row has failed. Another device must confirm that
  // the row is bad.
  std::map<std::string, size_t> handed_over_;
  int64_t devices_ = 1;
};

}  // namespace encode
