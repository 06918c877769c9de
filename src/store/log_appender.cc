#include "store/log_appender.h"

#include <fcntl.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/system_call.h"

namespace encode {

void LogAppender::append(const std::string& line) {
  if (failed_) {
    throw Error(
        {.code = "store.log",
         .what = "the chunk log could not be written earlier in this run",
         .where = path_,
         .expected = "a log that can be written",
         .found = "an earlier error of the log",
         .hint = "run the same command again; it continues after the last committed chunk"});
  }
  failed_ = true;
  if (shared_) {
    shared_->append(line);
  } else {
    write(line);
  }
  failed_ = false;
}

void LogAppender::write(const std::string& line) {
  // Opens the log at the first append, because a process that only reads chunks does not need it.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  if (!fd_) fd_ = UniqueFd(retried([&] { return ::open(path_.c_str(), kFlags); }));
  if (!fd_) throw log_error("open", path_);
  write_all(fd_, line.data(), line.size(), path_);
  if (retried([&] { return ::fdatasync(fd_.get()); }) != 0) throw log_error("sync", path_);
}

void LogAppender::replace(const std::string& text) {
  fd_ = UniqueFd();
  write_file_durably(path_, text);
}

}  // namespace encode
