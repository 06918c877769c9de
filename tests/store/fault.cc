#include "fault.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// This file replaces open(), write() and other functions, so it calls the kernel with syscall(2),
// and only as every processor can: renameat(2), because 64-bit ARM has no rename(2).
namespace encode::testing {
namespace {

template <typename... Arguments>
int call(long number, Arguments... arguments) {
  return static_cast<int>(::syscall(number, arguments...));
}

constexpr unsigned kDelayMicroseconds = 5000;

FaultPlan plan;
std::atomic<int64_t> calls{0};

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
};
std::array<FileId, 64> failed_syncs;
std::atomic<size_t> failed_sync_count{0};

bool under_root(const char* path) {
  const size_t size = std::strlen(plan.root);
  return size > 0 && std::strncmp(path, plan.root, size) == 0 &&
         (path[size] == '/' || path[size] == '\0');
}

// Returns the path of an open file. The text is valid until the next call on this thread.
const char* path_of(int fd) {
  thread_local char target[512];
  const int saved = errno;
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, target, sizeof target - 1);
  errno = saved;
  target[size > 0 ? size : 0] = '\0';
  return target;
}

bool fd_under_root(int fd) { return plan.root[0] != '\0' && under_root(path_of(fd)); }

bool is_lock_file(const char* path) {
  const std::string_view name(path);
  return under_root(path) && name.ends_with("/LOCK") && !plan.lock_may_go;
}

[[noreturn]] void kill_self() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

// Counts the call `name`. Returns true if the plan has a fault for this call.
bool count_hit(const char* name) {
  if (plan.call[0] != '\0' && std::strcmp(plan.call, name) != 0) return false;
  const int64_t count = ++calls;
  return plan.at == 0 || count == plan.at || (plan.persistent && count >= plan.at);
}

int get_status(int fd, struct stat& info) {
  return static_cast<int>(::syscall(SYS_newfstatat, fd, "", &info, AT_EMPTY_PATH));
}

void note_failed_sync(int fd) {
  struct stat info = {};
  if (get_status(fd, info) != 0 || S_ISDIR(info.st_mode)) return;
  const size_t slot = failed_sync_count++;
  if (slot < failed_syncs.size())
    failed_syncs[slot] = {.device = info.st_dev, .inode = info.st_ino};
}

void refuse_second_sync(int fd) {
  struct stat info = {};
  if (failed_sync_count == 0 || get_status(fd, info) != 0 || S_ISDIR(info.st_mode)) return;
  for (size_t i = 0; i < failed_sync_count && i < failed_syncs.size(); ++i) {
    if (failed_syncs[i].device == info.st_dev && failed_syncs[i].inode == info.st_ino)
      ::_exit(kSyncedAgainStatus);
  }
}

// Reports a change by a counted call, and returns its result.
int note(bool counted, int result, const Change& change) {
  if (counted && result >= 0 && plan.on_change != nullptr) plan.on_change(change);
  return result;
}

// Reports a change of an open file, if its path is under the root.
void note_file(int64_t result, int fd, Change change) {
  if (result < 0 || plan.on_change == nullptr || !fd_under_root(fd)) return;
  struct stat info = {};
  get_status(fd, info);
  change.inode = info.st_ino;
  change.path = path_of(fd);
  if (change.kind == Change::Kind::kResize) change.size = info.st_size;
  plan.on_change(change);
}

// Reports that `written` bytes were written to an open file at `offset`.
void note_write(int64_t written, int fd, const void* data, int64_t offset) {
  if (written <= 0) return;
  note_file(written, fd,
            {.kind = Change::Kind::kWrite,
             .path = {},
             .offset = offset,
             .bytes = {static_cast<const char*>(data), static_cast<size_t>(written)}});
}

template <typename Call>
auto interpose(const char* name, bool counted, const Call& call) -> decltype(call()) {
  if (counted && plan.before_call != nullptr) plan.before_call();
  if (!counted || plan.mode == FaultMode::kNone) {
    const auto result = call();
    if (counted && plan.after_call != nullptr) plan.after_call(++calls);
    return result;
  }
  const bool hit = count_hit(name);
  if (hit && plan.mode == FaultMode::kKillBefore) kill_self();
  if (hit && plan.mode == FaultMode::kDelay) ::usleep(kDelayMicroseconds);
  if (hit && plan.mode == FaultMode::kStopBefore) ::kill(::getpid(), SIGSTOP);
  if (hit && plan.mode == FaultMode::kErrno) {
    // On Linux a close() that fails has closed the descriptor.
    if (std::strcmp(name, "close") == 0) call();
    errno = plan.error;
    return -1;
  }
  const auto result = call();
  if (hit && plan.mode == FaultMode::kKillAfter) kill_self();
  if (plan.after_call != nullptr) plan.after_call(calls);
  return result;
}

// Makes a call that looks at a file. It is counted only if the plan names it.
template <typename Call>
auto look(const char* name, bool below_root, const Call& call) -> decltype(call()) {
  return interpose(name, below_root && std::strcmp(plan.call, name) == 0, call);
}

int do_sync(const char* name, int fd, long number, bool dropped) {
  const bool counted = fd_under_root(fd);
  if (counted) refuse_second_sync(fd);
  const int result = interpose(name, counted, [&] {
    return counted && dropped ? 0 : static_cast<int>(::syscall(number, fd));
  });
  if (counted && result != 0 && errno != EINTR) note_failed_sync(fd);
  if (!dropped) note_file(result, fd, {.kind = Change::Kind::kSync, .path = {}});
  return result;
}

bool is_directory(int fd) {
  struct stat info = {};
  return get_status(fd, info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

void set_fault_plan(const FaultPlan& new_plan) {
  plan = new_plan;
  calls = 0;
  failed_sync_count = 0;
}

int64_t fault_calls() { return calls; }

}  // namespace encode::testing

using encode::testing::call;
using encode::testing::Change;
using encode::testing::FaultMode;
using encode::testing::fd_under_root;
using encode::testing::interpose;
using encode::testing::look;
using encode::testing::note;
using encode::testing::note_file;
using encode::testing::note_write;
using encode::testing::plan;
using encode::testing::under_root;

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  const auto call = [&] {
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  };
  if ((flags & O_CREAT) == 0) return look("open_read", under_root(path), call);
  const int fd = interpose("open", under_root(path), call);
  note_file(fd, fd, {.kind = Change::Kind::kCreate, .path = {}});
  return fd;
}

ssize_t write(int fd, const void* data, size_t size) {
  const ssize_t result = interpose("write", fd_under_root(fd), [&]() -> ssize_t {
    const bool halve =
        (plan.mode == FaultMode::kShortWrite || plan.mode == FaultMode::kLyingWrite) && size > 1 &&
        fd_under_root(fd) &&
        (plan.at == 0 || encode::testing::fault_calls() == plan.at ||
         (plan.persistent && encode::testing::fault_calls() >= plan.at));
    const ssize_t written = ::syscall(SYS_write, fd, data, halve ? size / 2 : size);
    const bool lie = halve && written >= 0 && plan.mode == FaultMode::kLyingWrite;
    return lie ? static_cast<ssize_t>(size) : written;
  });
  if (result > 0) note_write(result, fd, data, ::syscall(SYS_lseek, fd, 0, SEEK_CUR) - result);
  return result;
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const ssize_t result = interpose("pwrite", fd_under_root(fd), [&]() -> ssize_t {
    return ::syscall(SYS_pwrite64, fd, data, size, offset);
  });
  note_write(result, fd, data, offset);
  return result;
}

ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  return look("pread", fd_under_root(fd),
              [&]() -> ssize_t { return ::syscall(SYS_pread64, fd, data, size, offset); });
}

int stat(const char* path, struct stat* info) noexcept {
  return look("stat", under_root(path),
              [&] { return call(SYS_newfstatat, AT_FDCWD, path, info, 0); });
}

int lstat(const char* path, struct stat* info) noexcept {
  return look("stat", under_root(path),
              [&] { return call(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW); });
}

int fstat(int fd, struct stat* info) noexcept {
  return look("fstat", fd_under_root(fd),
              [&] { return call(SYS_newfstatat, fd, "", info, AT_EMPTY_PATH); });
}

dirent* readdir(DIR* directory) {
  dirent* entry = nullptr;
  look("readdir", fd_under_root(::dirfd(directory)), [&] {
    using Function = dirent*(DIR*);
    entry = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "readdir"))(directory);
    return 0;
  });
  return entry;
}

int fsync(int fd) {
  const bool dropped = plan.mode == (encode::testing::is_directory(fd) ? FaultMode::kDropDirSync
                                                                       : FaultMode::kDropFileSync);
  return encode::testing::do_sync("fsync", fd, SYS_fsync, dropped);
}

int fdatasync(int fd) {
  return encode::testing::do_sync("fdatasync", fd, SYS_fdatasync,
                                  plan.mode == FaultMode::kDropDataSync);
}

int rename(const char* from, const char* to) noexcept {
  if (encode::testing::is_lock_file(from) || encode::testing::is_lock_file(to))
    ::_exit(encode::testing::kLockRemovedStatus);
  const bool counted = under_root(to);
  const int result = interpose("rename", counted,
                               [&] { return call(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to); });
  return note(counted, result, {.kind = Change::Kind::kRename, .path = from, .new_path = to});
}

int link(const char* from, const char* to) noexcept {
  return interpose("link", under_root(to),
                   [&] { return call(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0); });
}

int fchmod(int fd, mode_t mode) noexcept {
  return interpose("fchmod", fd_under_root(fd), [&] { return call(SYS_fchmod, fd, mode); });
}

int unlink(const char* path) noexcept {
  if (encode::testing::is_lock_file(path)) ::_exit(encode::testing::kLockRemovedStatus);
  const bool counted = under_root(path);
  const int result =
      interpose("unlink", counted, [&] { return call(SYS_unlinkat, AT_FDCWD, path, 0); });
  return note(counted, result, {.kind = Change::Kind::kUnlink, .path = path});
}

int rmdir(const char* path) noexcept {
  const bool counted = under_root(path);
  const int result =
      interpose("rmdir", counted, [&] { return call(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); });
  return note(counted, result, {.kind = Change::Kind::kUnlink, .path = path});
}

int mkdir(const char* path, mode_t mode) noexcept {
  const bool counted = under_root(path);
  const int result =
      interpose("mkdir", counted, [&] { return call(SYS_mkdirat, AT_FDCWD, path, mode); });
  return note(counted, result, {.kind = Change::Kind::kMakeDirectory, .path = path});
}

int statfs(const char* path, struct statfs* info) noexcept {
  const int result = call(SYS_statfs, path, info);
  if (result == 0 && plan.file_system > 0 && under_root(path)) info->f_type = plan.file_system;
  return result;
}

int ftruncate(int fd, off_t size) noexcept {
  const int result =
      interpose("ftruncate", fd_under_root(fd), [&] { return call(SYS_ftruncate, fd, size); });
  note_file(result, fd, {.kind = Change::Kind::kResize, .path = {}});
  return result;
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  const int result = interpose("fallocate", fd_under_root(fd),
                               [&] { return call(SYS_fallocate, fd, mode, offset, size); });
  note_file(result, fd, {.kind = Change::Kind::kResize, .path = {}});
  return result;
}

int close(int fd) {
  const int saved = errno;
  const long flags = plan.root[0] == '\0' ? -1 : ::syscall(SYS_fcntl, fd, F_GETFL, 0);
  errno = saved;
  const bool writes = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fd_under_root(fd);
  return interpose("close", writes, [&] { return static_cast<int>(::syscall(SYS_close, fd)); });
}

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const auto call = [&] { return static_cast<int>(::syscall(SYS_fcntl, fd, command, argument)); };
  if ((command != F_OFD_SETLK && command != F_OFD_SETLKW) || !fd_under_root(fd)) return call();
  const bool takes = static_cast<const struct flock*>(argument)->l_type != F_UNLCK;
  const bool drops = plan.mode == FaultMode::kDropLock || plan.drop_locks;
  const bool dropped = drops && takes && command == F_OFD_SETLK;
  return dropped ? 0 : interpose("lock", true, call);
}

// With 64-bit offsets these functions have a second name.
int statfs64(const char* path, struct statfs64* info) noexcept {
  return statfs(path, reinterpret_cast<struct statfs*>(info));
}

int stat64(const char* path, struct stat64* info) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(info));
}

int lstat64(const char* path, struct stat64* info) noexcept {
  return lstat(path, reinterpret_cast<struct stat*>(info));
}

int fstat64(int fd, struct stat64* info) noexcept {
  return fstat(fd, reinterpret_cast<struct stat*>(info));
}

dirent64* readdir64(DIR* directory) { return reinterpret_cast<dirent64*>(readdir(directory)); }

}  // extern "C"
