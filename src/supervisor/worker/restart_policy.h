// Decides whether a new worker replaces one that has failed, so that retries without progress end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "encode/error.h"

namespace encode {

// Counts, for each stream, how many times in a row the same chunk has failed. The counts are in
// <cache>/attempts.json, so that they remain when a scheduler starts the job again. The results do
// not depend on this file. It is therefore written without fsync, and a file that cannot be read
// counts as empty. A file that cannot be written is not reported. Not thread-safe.
class AttemptLog {
 public:
  explicit AttemptLog(std::string path);  // "": the counts are only in memory

  // Counts one more failure of this chunk and returns how often it has failed in a row.
  int64_t failed(const std::string& stream, int64_t chunk);
  // Deletes the count of a stream. Must be called when the stream makes progress.
  void forget(const std::string& stream);
  // Returns the chunk that failed last; nullopt if none has failed since the last forget().
  std::optional<int64_t> chunk(const std::string& stream) const;

 private:
  struct Attempts {
    int64_t chunk = -1;
    int64_t failures = 0;
  };
  void save() const;

  std::string path_;
  std::map<std::string, Attempts> streams_;
};

// Not thread-safe.
class RestartPolicy {
 public:
  static constexpr int64_t kMaxChunkFailures = 3;

  // `attempts` must outlive the policy.
  RestartPolicy(int64_t max_restarts, double first_delay_seconds, AttemptLog& attempts)
      : max_restarts_(max_restarts),
        first_delay_seconds_(first_delay_seconds),
        attempts_(attempts) {}

  // Must be called when a chunk or a stream was finished.
  void progressed(const std::string& stream);

  struct Failure {
    std::string stream;  // "" if the worker failed before its first chunk
    int64_t chunk = -1;
    std::string chunk_name;  // "train_tc chunk 3/51 (samples 2000-3000)"
    ErrorDetail cause;
  };
  // Returns the seconds to wait before the next worker: first_delay_seconds, doubled for every
  // restart without progress, at most 60. Throws Error if there must be no other worker:
  //   kInternal  the chunk has failed kMaxChunkFailures times; its count begins again
  //   the cause  max_restarts workers were started without progress
  double restart_delay(const Failure& failure);
  // Returns the value for JobUnit::alone_below.
  int64_t alone_below(const std::string& stream) const;

  int64_t restarts() const { return restarts_; }  // since the last progress

 private:
  const int64_t max_restarts_;
  const double first_delay_seconds_;
  AttemptLog& attempts_;
  int64_t restarts_ = 0;
};

}  // namespace encode
