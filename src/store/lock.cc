#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "base/units.h"
#include "store/layout.h"

namespace encode {
namespace {

constexpr int64_t kMaxOwnerBytes = 4096;
constexpr int kMaxReopens = 16;
// How long to wait for the lock. When a run is killed, its worker still holds the lock for a
// moment. The wait is longer, so that the run can be started again at once.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kRetryInterval = std::chrono::milliseconds(10);

std::string boot_id() {
  try {
    const UniqueFd fd = open_for_reading("/proc/sys/kernel/random/boot_id", "store.lock");
    std::array<char, 36> id = {};
    pread_all(fd, id, 0, "boot_id");
    return {id.begin(), id.end()};
  } catch (const Error&) {
    return "";  // ignores the error, because only an error message for people shows the boot id
  }
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text = {};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

// Writes into the lock file who holds the lock. A failed write is ignored, because only the error
// message of another run uses this text, and the lock itself is in the kernel.
void write_owner(int fd) {
  const std::string owner = Json{{"pid", ::getpid()},
                                 {"host", host_name()},
                                 {"boot_id", boot_id()},
                                 {"started", utc_now()}}
                                .dump(-1, ' ', false, Json::error_handler_t::replace) +
                            "\n";
  if (::ftruncate(fd, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(fd, owner.data(), owner.size(), 0);
}

std::string read_owner(const std::string& path) {
  try {
    const Json owner =
        read_json_file(path, {.max_bytes = kMaxOwnerBytes, .max_depth = 2}, "store.lock");
    const JsonFields fields(owner, path, "store.lock");
    return fmt::format("process {} on {}, started {}", fields.integer("pid", 1, INT32_MAX),
                       preview(fields.string("host")), preview(fields.string("started")));
  } catch (const Error&) {
    return "a process that has not written its name";
  }
}

Error locked_error(const std::string& path) {
  return Error({.exit_code = ExitCode::kTempFail,
                .code = "store.locked",
                .what = "another run is using this cache directory",
                .where = path,
                .expected = "no other run",
                .found = "held by " + read_owner(path),
                .hint = "run the same command again when that run has ended, or choose another "
                        "cache directory; do not delete the lock file: the lock ends with its "
                        "process"});
}

UniqueFd open_lock_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (fd) return fd;
  ErrorDetail detail = system_error("store.lock", "open lock file", path, errno).detail();
  if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kCantCreate;
  throw Error(std::move(detail));
}

// Returns true if `path` still leads to the open file `fd`. It leads to another file or to none if
// someone has deleted LOCK after this process opened it and before this process locked it.
bool is_still_named(const UniqueFd& fd, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return ::fstat(fd.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Waits up to kPatience for the lock. Takes an open-file-description lock, because the kernel drops
// a classic POSIX lock when the process closes any descriptor of the file.
void take_lock(const UniqueFd& fd, const std::string& path) {
  struct flock region = {};
  region.l_type = F_WRLCK;
  region.l_whence = SEEK_SET;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (::fcntl(fd.get(), F_OFD_SETLK, &region) != 0) {
    if (errno != EAGAIN) {
      ErrorDetail detail = system_error("store.lock", "lock", path, errno).detail();
      if (detail.exit_code == ExitCode::kIoError) {
        detail.expected = "a file system with locks";
        detail.hint =
            "the file system may not support locks; choose a cache directory on a local disk";
      }
      throw Error(std::move(detail));
    }
    if (std::chrono::steady_clock::now() >= deadline) throw locked_error(path);
    std::this_thread::sleep_for(kRetryInterval);
  }
}

}  // namespace

CacheLock CacheLock::acquire(const std::string& cache_dir) {
  create_directories_durably(cache_dir);
  const std::string path = join_path(cache_dir, kLockFile);
  for (int attempt = 0; attempt < kMaxReopens; ++attempt) {
    UniqueFd fd = open_lock_file(path);
    take_lock(fd, path);
    if (!is_still_named(fd, path)) continue;
    write_owner(fd.get());
    return CacheLock(fd.release());
  }
  throw locked_error(path);
}

CacheLock::CacheLock(CacheLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

CacheLock::~CacheLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace encode
