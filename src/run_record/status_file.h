// Writes <cache>/status.json, which shows people and other programs how far the run is.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "encode/error.h"

#include "base/json.h"
#include "run_record/run_command.h"

namespace encode {

inline constexpr JsonLimits kStatusFileLimits = {.max_bytes = 16 << 20, .max_depth = 8};

// Replaces the file with write_file_without_sync(), because the file is not needed to resume.
// Ignores failures to write. Not thread-safe.
class StatusFile {
 public:
  explicit StatusFile(std::string path) : path_(std::move(path)) {}

  // Adds pid, host, boot_id, monotonic_seconds and time to `status` and writes it. Does nothing if
  // less than a second has passed since the last write, unless `at_once` is true. A reader compares
  // rows_done to see whether the run makes progress. Two values of monotonic_seconds can be
  // compared if their boot_id is equal.
  void write(Json status, bool at_once);

  // Must be called instead of write() for a run that ends before it has changed anything that an
  // earlier run has made. The file keeps what it says about the earlier run, and names the error of
  // this one under "refused". `error` is null if a signal has ended the run. If the file names no
  // stream, there is no earlier run, and the file says that this one, which `command` started,
  // failed or was stopped.
  void keep_earlier(const ErrorDetail* error, const RunCommand& command);

 private:
  std::optional<Json> earlier() const;
  void replace(Json status);

  std::string path_;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace encode
