// Writes <cache>/status.json, which shows people and other programs how far the run is. Throws no
// Error.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "encode/error.h"

#include "base/json.h"
#include "base/names.h"
#include "run_record/run_command.h"

namespace encode {

// What a run says of itself. In kDone, kStopped and kFailed it has ended.
enum class RunPhase { kLoading, kEncoding, kRestarting, kDone, kStopped, kFailed };
inline constexpr NameTable<RunPhase, 6> kRunPhases = {{{"loading", RunPhase::kLoading},
                                                       {"encoding", RunPhase::kEncoding},
                                                       {"restarting", RunPhase::kRestarting},
                                                       {"done", RunPhase::kDone},
                                                       {"stopped", RunPhase::kStopped},
                                                       {"failed", RunPhase::kFailed}}};

// What the worker of a device does. kLost: the run goes on without the device.
enum class WorkerState { kLoading, kEncoding, kRestarting, kEnded, kLost };
inline constexpr NameTable<WorkerState, 5> kWorkerStates = {
    {{"loading", WorkerState::kLoading},
     {"encoding", WorkerState::kEncoding},
     {"restarting", WorkerState::kRestarting},
     {"ended", WorkerState::kEnded},
     {"lost", WorkerState::kLost}}};

inline constexpr JsonLimits kStatusFileLimits = {.max_bytes = 16 << 20, .max_depth = 8};

// Replaces the file with write_file_without_sync(), because the file is not needed to resume. If a
// full disk has no space for another file, overwrites the file in place. Ignores failures to write.
// Not thread-safe.
class StatusFile {
 public:
  explicit StatusFile(std::string path) : path_(std::move(path)) {}

  // Adds pid, host, boot_id, monotonic_seconds and time to `status` and writes it. Does nothing if
  // less than a second has passed since the last write, unless `at_once` is true. A reader compares
  // rows_done to see whether the run makes progress. Two values of monotonic_seconds can be
  // compared if their boot_id is equal.
  void write(Json status, bool at_once);

  // Must be called instead of write() for a run that ends before it has changed any result of an
  // earlier run. The file keeps what it says about the earlier run, and names the error of this run
  // under "refused". `error` is null if a signal has ended the run. A file that names no stream
  // shows that there was no earlier run. The file then says that this run, which `command` started,
  // has failed or was stopped.
  void keep_earlier(const ErrorDetail* error, const RunCommand& command);

 private:
  std::optional<Json> earlier() const;
  void replace(Json status);

  std::string path_;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace encode
