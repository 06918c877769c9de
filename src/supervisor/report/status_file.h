// <cache>/status.json: where the run is, for people and programs that look from outside.
#pragma once

#include <chrono>
#include <string>

#include "base/json.h"

namespace encode {

// Replaced by rename, without fsync: it is news, not state. Failures to write are ignored. One
// thread.
class StatusFile {
 public:
  explicit StatusFile(std::string path) : path_(std::move(path)) {}

  // At most once a second, unless `now_or_never`. Adds pid, host, boot_id, monotonic_seconds and
  // time: a reader judges by whether rows_done changed, and knows by boot_id whether two monotonic
  // times can be compared.
  void write(Json status, bool now_or_never);

 private:
  std::string path_;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace encode
