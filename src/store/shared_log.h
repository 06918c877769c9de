// chunks.log, to which several workers may write: appends that cannot mix, and claims on chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "store/records.h"

namespace encode {

// All locks are open-file-description locks on bytes of the log far beyond its end, so the kernel
// frees them when the process ends, however it ends. Two SharedLogs of one log exclude each other,
// also in one process. Not thread-safe. All functions throw Error kIoError "store.log".
class SharedLog {
 public:
  // Opens a log, which must exist.
  explicit SharedLog(std::string path);
  // Returns nullopt if the log does not exist.
  static std::optional<SharedLog> open(const std::string& path);

  // Calls `take` with each record that was appended since the last call, in the order of the file.
  // Leaves out damaged lines and an unfinished last line.
  void read_new(const std::function<void(const LogRecord&)>& take);
  // Takes a chunk until release(), or until this object is destroyed. Returns false if another
  // SharedLog has the chunk. If claim() returns true, another SharedLog may have committed the
  // chunk and released it, so the caller must then call read_new() and look for its record.
  bool claim(int64_t index);
  // Frees the claim on a chunk whose record is in the log. For each new lock the kernel looks
  // through all locks of the file, so a worker that kept thousands of claims would slow down all
  // workers.
  void release(int64_t index);
  // Appends whole lines and syncs the log. If an earlier writer has left half a line at the end, as
  // on a full disk, cuts it off first. A failed write may leave half a line, and a failed sync may
  // lose lines. So after the first failure, all later calls throw; the next ChunkStore::open()
  // repairs the log.
  void append(const std::string& lines);

 private:
  SharedLog(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  void write(const std::string& lines);
  void cut_unfinished_line() const;

  UniqueFd fd_;
  std::string path_;
  int64_t read_bytes_ = 0;  // read_new() has taken the lines before this offset
  bool failed_ = false;
};

}  // namespace encode
