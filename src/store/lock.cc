#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/cgroup.h"
#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "base/random.h"
#include "base/system_call.h"
#include "base/units.h"
#include "base/utf8.h"
#include "store/audit.h"
#include "store/no_locks.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr int64_t kMaxOwnerBytes = 4096;
constexpr int kMaxReopens = 16;
// How long to wait for the lock. When a run is killed, its worker still holds the lock for a
// moment. Because of this wait, the run can be started again at once.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kRetryInterval = std::chrono::milliseconds(10);

// Returns the PID namespace of this process, because a process id is valid only in its namespace;
// "" if the kernel does not say.
std::string pid_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

// Returns true if no process of this PID namespace has this number, or only a zombie: a process
// that has ended and for which its parent has not waited yet.
bool has_ended(int64_t pid) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0) return errno == ESRCH;
  const std::string stat = read_first_line(fmt::format("/proc/{}/stat", pid)).value_or("");
  const size_t name_end = stat.rfind(')');  // "12 (encode) Z 1 ..."
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") == 0;
}

// Writes into the lock file who holds the lock. A failed write is ignored, because the lock itself
// is in the kernel: only the error messages of other runs and require_lock() use this text.
void write_owner(int fd, const std::string& token) {
  const std::string now = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  const std::string owner =
      Json{{"pid", ::getpid()},   {"token", token},       {"pid_namespace", pid_namespace()},
           {"host", host_name()}, {"boot_id", boot_id()}, {"started", now}}
          .dump(-1, ' ', false, Json::error_handler_t::replace) +
      "\n";
  if (retried([&] { return ::ftruncate(fd, 0); }) != 0) return;
  [[maybe_unused]] const ssize_t written =
      retried([&] { return ::pwrite(fd, owner.data(), owner.size(), 0); });
}

// Reads what write_owner() has written into `state`.
void read_owner(const std::string& path, LockState& state) {
  const Json owner =
      read_json_file(path, {.max_bytes = kMaxOwnerBytes, .max_depth = 2}, "store.lock");
  const JsonFields fields(owner, path, "store.lock");
  state.pid = fields.integer("pid", 1, INT32_MAX);
  state.host = fields.string("host");
  state.started = fields.string("started");
  const std::string boot = boot_id();
  const std::string numbers = pid_namespace();
  const bool is_visible = !boot.empty() && !numbers.empty() && state.host == host_name() &&
                          fields.string_or("boot_id", "") == boot &&
                          fields.string_or("pid_namespace", "") == numbers;
  state.owner_ended = is_visible && has_ended(state.pid);
}

// Reads what write_owner() has written. If the owner seems to be dead, reads once more, because a
// run that has just got the lock may not have written its name yet.
void read_present_owner(const std::string& path, LockState& state) {
  read_owner(path, state);
  if (state.held != LockState::Held::kYes || !state.owner_ended) return;
  std::this_thread::sleep_for(kRetryInterval);
  read_owner(path, state);
}

std::string owner_in_words(const std::string& path) {
  try {
    LockState owner;
    read_owner(path, owner);
    return fmt::format("process {} on {}, started {}{}", owner.pid, preview(owner.host),
                       preview(owner.started),
                       owner.owner_ended ? ", which has ended; its worker has not yet" : "");
  } catch (const Error&) {
    return "a process that has not written its name";
  }
}

Error locked_error(const std::string& path) {
  return Error({.code = "store.locked",
                .what = "another run is using this cache directory",
                .where = path,
                .expected = "no other run",
                .found = "held by " + owner_in_words(path),
                .hint = "run the same command again when that run has ended, or give this run "
                        "another --cache-dir DIR, and another --output FILE if it has one; do not "
                        "delete the lock file: the lock ends with its process"});
}

// Opens the lock file. Returns an empty descriptor if the file is absent, or if it cannot be
// created because its directory is absent.
UniqueFd open_lock_file(const std::string& path, int flags) {
  UniqueFd fd(retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666); }));
  if (fd || errno == ENOENT) return fd;
  ErrorDetail detail = system_error("store.lock", "open lock file", path, errno).detail();
  if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kCantCreate;
  throw Error(std::move(detail));
}

// Throws Error if the file holds a text of another program, because a run would replace it. Bytes
// that are no text are accepted: write_owner() does not sync, so a power loss may leave them.
void refuse_foreign_lock(const UniqueFd& fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) throw system_error("store.lock", "stat", path, errno);
  char first = '{';  // the first byte that write_owner() writes; stays if the file is empty
  if (retried([&] { return ::pread(fd.get(), &first, 1, 0); }) < 0 && S_ISREG(info.st_mode))
    throw system_error("store.lock", "read", path, errno);
  if (S_ISREG(info.st_mode) && (first == '{' || !may_begin_text({&first, 1}))) return;
  throw Error({.code = "store.lock",
               .exit_code = ExitCode::kCantCreate,
               .what = "the lock file is not from encode",
               .where = path,
               .expected = "no file, or the lock file of an earlier run",
               .found = "another file",
               .hint = "give the run a directory of its own, with --cache-dir DIR"});
}

enum class Locking { kDone, kHeldByOther, kNoLocks };

// Takes an open-file-description lock, because the kernel drops a classic POSIX lock when the
// process closes any descriptor of the file.
Locking try_to_lock(const UniqueFd& fd, const std::string& path, CacheLock::Need need) {
  struct flock region = {};
  region.l_type = F_WRLCK;
  region.l_whence = SEEK_SET;
  if (retried([&] { return ::fcntl(fd.get(), F_OFD_SETLK, &region); }) == 0) return Locking::kDone;
  if (errno == EAGAIN) return Locking::kHeldByOther;
  const bool no_locks = means_no_locks(errno);
  if (need == CacheLock::Need::kIfPossible && no_locks) return Locking::kNoLocks;
  ErrorDetail detail = system_error("store.lock", "lock", path, errno).detail();
  if (detail.exit_code == ExitCode::kIoError) {
    detail.expected = no_locks ? kFileSystemWithLocks : "a file system whose locks work";
    detail.hint = "the file system may not support locks; give --cache-dir DIR on a local disk";
  }
  throw Error(std::move(detail));
}

// Returns true if another descriptor holds the lock. Does not take it.
bool is_held(const UniqueFd& fd, const std::string& path) {
  struct flock region = {};
  region.l_type = F_RDLCK;  // a read lock would wait for the write lock of a run
  region.l_whence = SEEK_SET;
  if (retried([&] { return ::fcntl(fd.get(), F_OFD_GETLK, &region); }) != 0) {
    ErrorDetail detail = system_error("store.lock", "ask for the lock", path, errno).detail();
    if (means_no_locks(errno)) detail.expected = kFileSystemWithLocks;
    throw Error(std::move(detail));
  }
  return region.l_type != F_UNLCK;
}

// Calls `done` until it returns true, for at most kPatience.
template <typename Done>
void wait_for_lock(const std::string& path, const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) throw locked_error(path);
    std::this_thread::sleep_for(kRetryInterval);
  }
}

}  // namespace

CacheLock CacheLock::acquire(const std::string& cache_dir, Need need) {
  const std::string path = RunFiles(cache_dir).lock();
  for (int attempt = 0; attempt < kMaxReopens; ++attempt) {
    create_directories_durably(cache_dir);  // each time: a finished run may have removed it
    UniqueFd fd = open_lock_file(path, O_RDWR | O_CREAT);
    if (!fd) continue;
    refuse_foreign_lock(fd, path);
    Locking locking = Locking::kHeldByOther;
    wait_for_lock(path, [&] {
      locking = try_to_lock(fd, path, need);
      return locking != Locking::kHeldByOther;
    });
    // Someone may have deleted LOCK after this process opened it and before this process locked it.
    if (!is_still_named(fd, path, "store.lock")) continue;
    std::string token = random_hex();
    write_owner(fd.get(), token);
    return CacheLock(fd.release(), std::move(token), locking == Locking::kDone);
  }
  throw locked_error(path);
}

void require_lock(const std::string& cache_dir, const std::string& token) {
  const std::string path = RunFiles(cache_dir).lock();
  if (!entry_exists(path, "store.lock")) return;
  std::string found;
  try {
    const Json owner =
        read_json_file(path, {.max_bytes = kMaxOwnerBytes, .max_depth = 2}, "store.lock");
    found = JsonFields(owner, path, "store.lock").string_or("token", "");
  } catch (const Error& error) {
    // The text is not complete: the other run may be writing its name at this moment.
    if (error.exit_code() == ExitCode::kConfig) return;
    throw;
  }
  if (found.empty() || found == token) return;
  throw Error({.code = "store.taken",
               .exit_code = ExitCode::kTempFail,
               .what = "another run has taken this cache directory",
               .where = path,
               .expected = "the lock of this run",
               .found = "the lock of " + owner_in_words(path),
               .hint = "the locks of this file system do not exclude other machines or mounts; "
                       "run the same command again when that run has ended, and divide work among "
                       "machines with encode shards plan"});
}

void check_lock_free(const std::string& cache_dir) {
  const std::string path = RunFiles(cache_dir).lock();
  if (!entry_exists(path, "store.lock")) return;
  const UniqueFd fd = open_lock_file(path, O_RDWR);
  if (!fd) return;
  refuse_foreign_lock(fd, path);
  wait_for_lock(path, [&] { return !is_held(fd, path); });
}

void check_locks(const UniqueFd& fd, const std::string& path) {
  const UniqueFd other(
      retried([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW); }));
  if (!other) throw system_error("store.lock", "open lock file", path, errno);
  const auto locks = [&path](const UniqueFd& file) {
    return try_to_lock(file, path, CacheLock::Need::kRequired) == Locking::kDone;
  };
  const bool excludes = locks(fd) && !locks(other);
  if (excludes) return;
  throw Error({.code = "store.lock",
               .what = "the locks of this file system do not work",
               .where = path,
               .expected = "a lock that only one descriptor gets",
               .found = "two descriptors with the same lock",
               .hint = "choose a cache directory on a local disk, because two runs in this one "
                       "would not notice each other"});
}

LockState read_lock_state(const std::string& cache_dir) {
  const std::string path = RunFiles(cache_dir).lock();
  LockState state;
  try {
    const UniqueFd fd = open_for_reading(path, "store.lock");
    state.held = is_held(fd, path) ? LockState::Held::kYes : LockState::Held::kNo;
    read_present_owner(path, state);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) {
      state.held = LockState::Held::kNo;  // no run has used this directory
    } else {
      state.problem = path + ": " + error.detail().what;
    }
  }
  return state;
}

CacheLock::CacheLock(CacheLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      token_(std::move(other.token_)),
      excludes_(other.excludes_) {}

CacheLock::~CacheLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace encode
