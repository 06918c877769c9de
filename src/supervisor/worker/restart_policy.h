// Whether a failed worker gets a successor. Retry without progress must stop being a retry.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "encode/error.h"

namespace encode {

// Failures of the chunk that each stream is at, kept in <cache>/attempts.json so that a scheduler's
// requeue does not start the count again. Not needed for correctness: written without fsync, and an
// unreadable file counts as empty.
class AttemptLog {
 public:
  explicit AttemptLog(std::string path);  // "": kept in memory only

  int64_t failed(const std::string& stream, int64_t chunk);  // one more; returns how often in a row
  void forget(const std::string& stream);                    // it moved on
  std::optional<int64_t> chunk(const std::string& stream) const;  // that failed last

 private:
  struct Attempts {
    int64_t chunk = -1;
    int64_t failures = 0;
  };
  void save() const;

  std::string path_;
  std::map<std::string, Attempts> streams_;
};

class RestartPolicy {
 public:
  static constexpr int64_t kMaxChunkFailures = 3;

  RestartPolicy(int64_t max_restarts, double first_delay_seconds, AttemptLog& attempts)
      : max_restarts_(max_restarts),
        first_delay_seconds_(first_delay_seconds),
        attempts_(attempts) {}

  void progressed(const std::string& stream);  // a chunk was committed

  struct Failure {
    std::string stream;  // "": before any chunk
    int64_t chunk = -1;
    std::string chunk_name;  // "chunk 3/51 of train_tc (rows 2000-3000)"
    ErrorDetail cause;
  };
  // Seconds to wait before the next worker: 1, 2, 4, ... at most 60. Throws Error where there must
  // be none: kInternal for a chunk that failed three times (its count starts anew), else the cause
  // itself after max_restarts.
  double restart_delay(const Failure& failure);
  // See JobUnit::alone_below.
  int64_t alone_below(const std::string& stream) const;

  int64_t restarts() const { return restarts_; }  // without progress

 private:
  const int64_t max_restarts_;
  const double first_delay_seconds_;
  AttemptLog& attempts_;
  int64_t restarts_ = 0;
};

}  // namespace encode
