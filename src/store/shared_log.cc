#include "store/shared_log.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/system_call.h"
#include "store/no_locks.h"

namespace encode {
namespace {

// A process locks the byte kAppendByte while it appends, and the byte kFirstClaim + i to claim
// chunk i. These bytes are beyond the end of any log.
constexpr int64_t kAppendByte = (int64_t{1} << 40) - 1;
constexpr int64_t kFirstClaim = int64_t{1} << 40;

struct flock one_byte(short type, int64_t byte) {
  struct flock region = {};
  region.l_type = type;
  region.l_whence = SEEK_SET;
  region.l_start = byte;
  region.l_len = 1;
  return region;
}

// Returns the Error "store.log" for a system call on the log that has just failed (errno). If the
// log is missing, the error is kIoError: the log existed, so kNoInput would mislead.
Error log_error(const char* action, const std::string& path) {
  ErrorDetail detail = system_error("store.log", action, path, errno).detail();
  if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kIoError;
  return Error(std::move(detail));
}

UniqueFd open_file(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  return UniqueFd(retried([&] { return ::open(path.c_str(), kFlags); }));
}

// Holds the lock on appends. A process holds it only for one write, so others wait a short time.
// Where the file system has no locks, there are no claims, so only one worker writes to the log.
class AppendLock {
 public:
  AppendLock(int fd, const std::string& path) : fd_(fd) {
    struct flock region = one_byte(F_WRLCK, kAppendByte);
    const bool locked = retried([&] { return ::fcntl(fd_, F_OFD_SETLKW, &region); }) == 0;
    if (!locked && !means_no_locks(errno)) throw log_error("lock", path);
  }
  AppendLock(const AppendLock&) = delete;
  AppendLock& operator=(const AppendLock&) = delete;
  ~AppendLock() {
    struct flock region = one_byte(F_UNLCK, kAppendByte);
    ::fcntl(fd_, F_OFD_SETLK, &region);
  }

 private:
  const int fd_;
};

// Returns nullopt for a damaged line, which the next run will report.
std::optional<LogRecord> try_parse(std::string_view line, const std::string& path) {
  try {
    return parse_log_line(line, path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns the number of bytes read, which is 0 at the end of the file.
size_t read_at(const UniqueFd& fd, std::array<char, kLogReadBytes>& block, int64_t offset,
               const std::string& path) {
  const ssize_t n = retried([&] { return ::pread(fd.get(), block.data(), block.size(), offset); });
  if (n < 0) throw log_error("read", path);
  return static_cast<size_t>(n);
}

}  // namespace

SharedLog::SharedLog(std::string path) : fd_(open_file(path)), path_(std::move(path)) {
  if (!fd_) throw log_error("open", path_);
}

std::optional<SharedLog> SharedLog::open(const std::string& path) {
  UniqueFd fd = open_file(path);
  if (fd) return SharedLog(std::move(fd), path);
  if (errno == ENOENT) return std::nullopt;
  throw log_error("open", path);
}

void SharedLog::read_new(const std::function<void(const LogRecord&)>& take) {
  std::string line;
  std::array<char, kLogReadBytes> block = {};
  int64_t offset = read_bytes_;
  while (const size_t n = read_at(fd_, block, offset, path_)) {
    for (size_t i = 0; i < n; ++i, ++offset) {
      if (block.at(i) != '\n') {
        if (line.size() <= kMaxLogLineBytes) line += block.at(i);
        continue;
      }
      if (const auto record = try_parse(line, path_)) take(*record);
      line.clear();
      read_bytes_ = offset + 1;
    }
  }
}

bool SharedLog::claim(int64_t index) {
  struct flock region = one_byte(F_WRLCK, kFirstClaim + index);
  if (retried([&] { return ::fcntl(fd_.get(), F_OFD_SETLK, &region); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  throw log_error("claim a chunk in", path_);
}

void SharedLog::release(int64_t index) {
  struct flock region = one_byte(F_UNLCK, kFirstClaim + index);
  const bool released = retried([&] { return ::fcntl(fd_.get(), F_OFD_SETLK, &region); }) == 0;
  if (!released && !means_no_locks(errno)) throw log_error("give back a chunk in", path_);
}

void SharedLog::append(const std::string& lines) {
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
  write(lines);
  failed_ = false;
}

void SharedLog::write(const std::string& lines) {
  {
    const AppendLock lock(fd_.get(), path_);
    cut_unfinished_line();
    write_all(fd_, lines.data(), lines.size(), path_);
  }
  if (retried([&] { return ::fdatasync(fd_.get()); }) != 0) throw log_error("sync", path_);
}

void SharedLog::cut_unfinished_line() const {
  int64_t end = file_size(fd_, path_);
  char last = '\n';
  while (end > 0) {
    if (retried([&] { return ::pread(fd_.get(), &last, 1, end - 1); }) != 1)
      throw log_error("read", path_);
    if (last == '\n') break;
    --end;
  }
  if (end == file_size(fd_, path_)) return;
  if (retried([&] { return ::ftruncate(fd_.get(), end); }) != 0) throw log_error("cut", path_);
}

}  // namespace encode
