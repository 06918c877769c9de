// Appends the records of committed chunks to chunks.log.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "store/shared_log.h"

namespace encode {

// A failed write may leave half a line, and a failed sync may lose a line. So after the first
// failure, all later calls of append() throw. The next ChunkStore::open() repairs the log. Not
// thread-safe.
class LogAppender {
 public:
  explicit LogAppender(std::string path) : path_(std::move(path)) {}
  // For a log to which other processes write, too.
  LogAppender(std::string path, SharedLog shared)
      : path_(std::move(path)), shared_(std::move(shared)) {}

  // Throws Error kIoError "store.log".
  void append(const std::string& line);
  // Replaces the whole log, which must not be shared. Throws as append() does.
  void replace(const std::string& text);
  // Null unless the log is shared.
  SharedLog* shared() { return shared_ ? &*shared_ : nullptr; }
  const SharedLog* shared() const { return shared_ ? &*shared_ : nullptr; }

 private:
  void write(const std::string& line);

  std::string path_;
  std::optional<SharedLog> shared_;
  UniqueFd fd_;
  bool failed_ = false;
};

}  // namespace encode
