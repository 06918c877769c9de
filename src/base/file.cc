#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

namespace encode {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

UniqueFd::~UniqueFd() { close(); }

int UniqueFd::release() { return std::exchange(fd_, -1); }

int UniqueFd::close() {
  const int fd = release();
  if (fd < 0) return 0;
  // After EINTR the descriptor is gone on Linux; closing again could hit another thread's file.
  return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

UniqueFd open_for_reading(const std::string& path, std::string_view code) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) throw system_error(code, "open", path, errno);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) throw system_error(code, "stat", path, errno);
  if (!S_ISREG(info.st_mode)) {
    throw Error({.exit_code = ExitCode::kNoInput,
                 .code = std::string(code),
                 .what = "not a regular file",
                 .where = path,
                 .expected = "a file",
                 .found = S_ISDIR(info.st_mode) ? "a directory" : "a device, FIFO or socket",
                 .hint = ""});
  }
  return fd;
}

int64_t file_size(const UniqueFd& fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) throw system_error("io.stat", "stat", path, errno);
  return info.st_size;
}

std::string read_file(const std::string& path, int64_t max_bytes, std::string_view code) {
  const UniqueFd fd = open_for_reading(path, code);
  const int64_t size = file_size(fd, path);
  if (size > max_bytes) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = std::string(code),
                 .what = "file is too large",
                 .where = path,
                 .expected = "at most " + std::to_string(max_bytes) + " bytes",
                 .found = std::to_string(size) + " bytes",
                 .hint = "check that this is the file you meant"});
  }
  std::string content(static_cast<size_t>(size), '\0');
  pread_all(fd, content.data(), content.size(), 0, path);
  return content;
}

void pread_all(const UniqueFd& fd, void* data, size_t size, int64_t offset,
               const std::string& path) {
  auto* out = static_cast<char*>(data);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd.get(), out + done, size - done,
                              static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("io.read", "read", path, errno);
    if (n == 0) {
      throw Error({.exit_code = ExitCode::kIoError,
                   .code = "io.read",
                   .what = "file ends early",
                   .where = path,
                   .expected = std::to_string(size) + " bytes at offset " + std::to_string(offset),
                   .found = std::to_string(done) + " bytes",
                   .hint = "the file changed while it was read, or its copy is incomplete"});
    }
    done += static_cast<size_t>(n);
  }
}

void write_all(const UniqueFd& fd, const void* data, size_t size, const std::string& path) {
  const auto* in = static_cast<const char*>(data);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::write(fd.get(), in + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("io.write", "write", path, errno);
    done += static_cast<size_t>(n);
  }
}

std::string parent_directory(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void sync_directory(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw system_error("io.sync", "open directory", path, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw system_error("io.sync", "sync directory", path, errno);
  }
}

void create_directories_durably(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored)) return;
  const std::string parent = parent_directory(path);
  create_directories_durably(parent);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    Error error = system_error("io.mkdir", "create directory", path, errno);
    ErrorDetail detail = error.detail();
    if (detail.exit_code != ExitCode::kNoPermission) detail.exit_code = ExitCode::kCantCreate;
    throw Error(std::move(detail));
  }
  if (!std::filesystem::is_directory(path, ignored)) {
    throw Error({.exit_code = ExitCode::kCantCreate,
                 .code = "io.mkdir",
                 .what = "cannot create directory: a file of that name is in the way",
                 .where = path,
                 .expected = "a directory",
                 .found = "a file",
                 .hint = ""});
  }
  sync_directory(parent);
}

namespace {

// Unique among processes and threads, also where the pid is reused on another host of a shared file
// system.
std::string random_suffix() {
  uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    value = static_cast<uint64_t>(::getpid());
  }
  char text[48];
  std::snprintf(text, sizeof text, ".tmp.%d.%016llx", static_cast<int>(::getpid()),
                static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, int64_t reserve_bytes) : path_(std::move(path)) {
  const std::string directory = parent_directory(path_);
  const std::string name = std::filesystem::path(path_).filename().string();
  temp_path_ = directory + "/." + name + random_suffix();
  fd_ = UniqueFd(
      ::open(temp_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd_) throw system_error("io.create", "create", temp_path_, errno);
  if (reserve_bytes > 0) {
    const int error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(reserve_bytes));
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
      ::unlink(temp_path_.c_str());
      throw system_error("io.space", "reserve " + std::to_string(reserve_bytes) + " bytes", path_,
                         error);
    }
  }
}

AtomicFile::~AtomicFile() {
  if (fd_) ::unlink(temp_path_.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  write_all(fd_, data, size, path_);
  bytes_written_ += static_cast<int64_t>(size);
}

void AtomicFile::commit() {
  const auto fail = [this](const char* action, int error) {
    ::unlink(temp_path_.c_str());
    return system_error("io.commit", action, path_, error);
  };
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) throw fail("stat", errno);
  // A reservation larger than what was written leaves zeros at the end.
  if (info.st_size != bytes_written_ &&
      ::ftruncate(fd_.get(), static_cast<off_t>(bytes_written_)) != 0) {
    throw fail("truncate", errno);
  }
  if (::fsync(fd_.get()) != 0) throw fail("sync", errno);
  if (const int error = fd_.close(); error != 0) throw fail("close", error);
  if (::rename(temp_path_.c_str(), path_.c_str()) != 0) throw fail("rename", errno);
  sync_directory(parent_directory(path_));
}

void write_file_durably(const std::string& path, std::string_view content) {
  AtomicFile file(path, 0);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace encode
