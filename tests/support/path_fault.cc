// Makes system calls on one file name fail. The library is loaded into a program with LD_PRELOAD:
//
//   PATH_FAULT_NAME=modules.json PATH_FAULT_CALL=stat PATH_FAULT_ERRNO=5 LD_PRELOAD=.. encode run
//   ..
//
// PATH_FAULT_NAME is the last component of the paths. PATH_FAULT_CALL is "open" (open, fopen),
// "stat" (stat, lstat, access) or "readdir" (of a directory of that name). PATH_FAULT_PROGRAM is
// the only program with the fault; without it, all programs have it. Each fault adds a line to the
// file PATH_FAULT_LOG, so that a test knows whether the call was made.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

void log_fault(std::string_view call) {
  const std::string log(setting("PATH_FAULT_LOG"));
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, log.c_str(),
                                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  const std::string line = std::string(call) + "\n";
  static_cast<void>(::syscall(SYS_write, fd, line.data(), line.size()));
  ::syscall(SYS_close, fd);
}

bool is_chosen_program() {
  const std::string_view program = setting("PATH_FAULT_PROGRAM");
  return program.empty() || program == program_invocation_short_name;
}

// Returns true, and sets errno, if this call must fail.
bool fails(std::string_view call, std::string_view path) {
  const std::string_view name = setting("PATH_FAULT_NAME");
  if (name.empty() || setting("PATH_FAULT_CALL") != call || !is_chosen_program()) return false;
  if (path.substr(path.rfind('/') + 1) != name) return false;
  log_fault(call);
  errno = std::atoi(std::getenv("PATH_FAULT_ERRNO"));
  return true;
}

std::string directory_name(DIR* directory) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", ::dirfd(directory));
  char target[4096];
  const ssize_t size = ::readlink(link, target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : std::string();
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

// The function of the C library that a function here replaces.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  if (fails("open", path)) return -1;
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat(AT_FDCWD, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  if (fails("open", path)) return nullptr;
  return next<FILE*(const char*, const char*)>("fopen")(path, mode);
}

int fstatat(int directory, const char* path, struct stat* info, int flags) noexcept {
  if (fails("stat", path)) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, directory, path, info, flags));
}

int stat(const char* path, struct stat* info) noexcept { return fstatat(AT_FDCWD, path, info, 0); }

int lstat(const char* path, struct stat* info) noexcept {
  return fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

int access(const char* path, int mode) noexcept {
  if (fails("stat", path)) return -1;
  return static_cast<int>(::syscall(SYS_faccessat, AT_FDCWD, path, mode));
}

dirent* readdir(DIR* directory) {
  if (fails("readdir", directory_name(directory))) return nullptr;
  return next<dirent*(DIR*)>("readdir")(directory);
}

// With 64-bit offsets these functions have a second name.
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat(AT_FDCWD, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat(directory, path, flags, mode);
}

FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

int fstatat64(int directory, const char* path, struct stat64* info, int flags) noexcept {
  return fstatat(directory, path, reinterpret_cast<struct stat*>(info), flags);
}

int stat64(const char* path, struct stat64* info) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(info));
}

int lstat64(const char* path, struct stat64* info) noexcept {
  return lstat(path, reinterpret_cast<struct stat*>(info));
}

dirent64* readdir64(DIR* directory) { return reinterpret_cast<dirent64*>(readdir(directory)); }

}  // extern "C"
