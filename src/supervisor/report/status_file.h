// Writes <cache>/status.json, which shows people and other programs how far the run is.
#pragma once

#include <chrono>
#include <string>

#include "base/json.h"

namespace encode {

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

 private:
  std::string path_;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace encode
