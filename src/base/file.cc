#include "base/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/creatable.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "base/temp_path.h"

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
  // Linux closes the descriptor even if close() fails with EINTR, so EINTR counts as success. A
  // second close() could close a file that another thread has opened since.
  return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

Pipe make_pipe(int more_flags) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC | more_flags) != 0)
    throw system_error("os.pipe", "create a pipe", "", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

UniqueFd open_for_reading(const std::string& path, ErrorCode code) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  UniqueFd fd(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!fd) throw system_error(code, "open", path, errno);
  struct stat info = {};
  if (retried([&] { return ::fstat(fd.get(), &info); }) != 0)
    throw system_error(code, "stat", path, errno);
  if (!S_ISREG(info.st_mode)) {
    throw Error({.code = code,
                 .exit_code = ExitCode::kNoInput,
                 .what = "not a regular file",
                 .where = path,
                 .expected = "a file",
                 .found = S_ISDIR(info.st_mode) ? "a directory" : "a device, FIFO or socket",
                 .hint = "give the path of a file"});
  }
  return fd;
}

bool is_still_named(const UniqueFd& fd, const std::string& path, ErrorCode code) {
  struct stat opened = {};
  if (::fstat(fd.get(), &opened) != 0) throw system_error(code, "stat", path, errno);
  struct stat named = {};
  if (::stat(path.c_str(), &named) != 0) {
    if (means_absent(errno)) return false;
    throw system_error(code, "look for", path, errno);
  }
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int64_t file_size(const UniqueFd& fd, const std::string& path) {
  struct stat info = {};
  if (retried([&] { return ::fstat(fd.get(), &info); }) != 0)
    throw system_error("io.stat", "stat", path, errno);
  return info.st_size;
}

MappedRange::MappedRange(const UniqueFd& fd, int64_t offset, int64_t size,
                         const std::string& path) {
  if (const int64_t found = file_size(fd, path); found < offset + size) {
    throw Error({.code = "io.read",
                 .what = "the file became shorter after it was checked",
                 .where = path,
                 .expected = fmt::format("{} bytes", offset + size),
                 .found = fmt::format("{} bytes", found),
                 .hint = "do not change a model or a matrix while encode reads it"});
  }
  if (size == 0) return;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t before = offset % page;
  mapped_bytes_ = static_cast<size_t>(before + size);
  pages_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd.get(),
                  offset - before);
  if (pages_ == MAP_FAILED) throw system_error("io.read", "map", path, errno);
  ::madvise(pages_, mapped_bytes_, MADV_SEQUENTIAL);  // makes the kernel read further ahead
  data_ = static_cast<std::byte*>(pages_) + before;
}

MappedRange::~MappedRange() {
  if (data_ != nullptr) ::munmap(pages_, mapped_bytes_);
}

void write_all(const UniqueFd& fd, const void* data, size_t size, const std::string& path) {
  const auto* in = static_cast<const char*>(data);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = retried([&] { return ::write(fd.get(), in + done, size - done); });
    if (n < 0) throw system_error("io.write", "write", path, errno);
    done += static_cast<size_t>(n);
  }
}

namespace {

// Returns the error for a file or a directory that cannot be created. If a directory of the path is
// missing, the exit code is kCantCreate instead of kNoInput, because the path is not an input.
Error create_error(ErrorCode code, std::string_view action, const std::string& path,
                   int error_number) {
  ErrorDetail detail = system_error(code, action, path, error_number).detail();
  const bool path_problem = detail.exit_code == ExitCode::kNoInput || error_number == ENAMETOOLONG;
  if (path_problem) detail.exit_code = ExitCode::kCantCreate;
  return Error(std::move(detail));
}

// Throws Error "io.mkdir" if the file system does not say whether there is such a directory.
bool is_directory(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode);
  if (means_absent(errno)) return false;
  throw create_error("io.mkdir", "look for the directory", path, errno);
}

Error file_in_the_way(const std::string& path) {
  return Error({.code = "io.mkdir",
                .what = "cannot create directory: a file of that name exists",
                .where = path,
                .expected = "a directory",
                .found = "a file",
                .hint = "choose another directory, or move the file away"});
}

}  // namespace

bool entry_exists(const std::string& path, ErrorCode code) {
  struct stat info = {};
  if (retried([&] { return ::lstat(path.c_str(), &info); }) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw system_error(code, "look for", path, errno);
}

std::string parent_directory(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void sync_directory(const std::string& path) {
  const UniqueFd fd(
      retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) throw system_error("io.sync", "open directory", path, errno);
  if (retried([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw system_error("io.sync", "sync directory", path, errno);
  }
}

void create_directories_durably(const std::string& path) {
  if (path.empty() || is_directory(path)) return;
  const std::string parent = parent_directory(path);
  create_directories_durably(parent);
  if (retried([&] { return ::mkdir(path.c_str(), 0777); }) != 0 && errno != EEXIST) {
    throw create_error("io.mkdir", "create directory", path, errno);
  }
  if (!is_directory(path)) throw file_in_the_way(path);
  sync_directory(parent);
}

std::string first_existing_directory(const std::string& path) {
  if (path.empty() || is_directory(path)) return path.empty() ? "." : path;
  const std::string parent = parent_directory(path);
  if (parent == path) return path;
  std::string directory = first_existing_directory(parent);
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0) throw file_in_the_way(path);
  return directory;
}

std::vector<std::string> list_directory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) throw system_error("io.list", "list directory", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

void remove_file(const std::string& path) {
  if (retried([&] { return ::unlink(path.c_str()); }) != 0 && errno != ENOENT)
    throw system_error("io.remove", "delete", path, errno);
}

namespace {

constexpr std::string_view kTempMark = ".tmp.";
constexpr size_t kRandomDigits = 16;

// Returns a name for a temporary file. The random number keeps the name unique among threads, and
// among hosts that share the file system and may use the same pid. If getrandom() fails, the pid
// replaces the random number. Two files with one name are then possible, and O_EXCL makes the
// creation of the second one fail.
std::string temp_name(const std::string& target) {
  uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    value = static_cast<uint64_t>(::getpid());
  }
  return fmt::format(".{}{}{}.{:0{}x}", target, kTempMark, ::getpid(), value, kRandomDigits);
}

// Reserves space for a file. Returns 0, or an errno value. If the file system cannot reserve space,
// does nothing and returns 0. In this case, posix_fallocate() would write every block.
int reserve(int fd, int64_t bytes) {
  const int result = retried([&] { return ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)); });
  const bool unsupported =
      result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL);
  return result == 0 || unsupported ? 0 : errno;
}

}  // namespace

std::string new_temp_path(const std::string& path) {
  return fmt::format("{}/{}", parent_directory(path),
                     temp_name(std::filesystem::path(path).filename().string()));
}

std::optional<std::string> temp_file_target(std::string_view name) {
  const size_t mark = name.rfind(kTempMark);
  if (mark == std::string_view::npos || mark < 2 || name.front() != '.') return std::nullopt;
  const std::string_view suffix = name.substr(mark + kTempMark.size());  // "<pid>.<digits>"
  const size_t dot = suffix.find('.');
  if (dot == std::string_view::npos || dot == 0 || suffix.size() - dot - 1 != kRandomDigits)
    return std::nullopt;
  if (suffix.substr(0, dot).find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  if (suffix.substr(dot + 1).find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return std::nullopt;
  return std::string(name.substr(1, mark - 1));
}

void remove_temp_files(const std::string& path) {
  const std::filesystem::path directory = parent_directory(path);
  const std::string target = std::filesystem::path(path).filename().string();
  for (const std::string& name : list_directory(directory.string())) {
    if (temp_file_target(name) == target) remove_file((directory / name).string());
  }
}

AtomicFile::AtomicFile(std::string path, int64_t reserve_bytes) : path_(std::move(path)) {
  temp_path_ = new_temp_path(path_);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  fd_ = UniqueFd(retried([&] { return ::open(temp_path_.c_str(), kFlags, 0666); }));
  if (!fd_) throw create_error("io.create", "create", path_, errno);
  if (reserve_bytes <= 0) return;
  if (const int error = reserve(fd_.get(), reserve_bytes); error != 0) {
    ::unlink(temp_path_.c_str());
    throw system_error("io.space", fmt::format("reserve {} bytes", reserve_bytes), path_, error);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_) ::unlink(temp_path_.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  write_all(fd_, data, size, path_);
  bytes_written_ += static_cast<int64_t>(size);
}

void AtomicFile::extend(int64_t size) {
  if (retried([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0)
    throw system_error("io.write", fmt::format("make {} bytes long", size), path_, errno);
  bytes_written_ = size;
}

void AtomicFile::overwrite(int64_t offset, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written =
        retried([&] { return ::pwrite(fd_.get(), bytes, size, static_cast<off_t>(offset)); });
    if (written <= 0) throw system_error("io.write", "write", path_, written < 0 ? errno : EIO);
    bytes += written;
    offset += written;
    size -= static_cast<size_t>(written);
  }
}

Error AtomicFile::commit_error(const char* action, int error_number) const {
  ::unlink(temp_path_.c_str());
  ErrorDetail detail = system_error("io.commit", action, path_, error_number).detail();
  // If the temporary file or its directory has vanished, the exit code is kIoError. kNoInput would
  // mean that an input is missing.
  if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kIoError;
  return Error(std::move(detail));
}

void AtomicFile::keep_attributes_of(const UniqueFd& original) {
  constexpr mode_t kPermissions = 07777;
  struct stat wanted = {};
  struct stat own = {};
  if (retried([&] { return ::fstat(original.get(), &wanted); }) != 0 ||
      retried([&] { return ::fstat(fd_.get(), &own); }) != 0) {
    throw system_error("io.stat", "stat", path_, errno);
  }
  const bool same_owner = wanted.st_uid == own.st_uid && wanted.st_gid == own.st_gid;
  if ((!same_owner &&
       retried([&] { return ::fchown(fd_.get(), wanted.st_uid, wanted.st_gid); }) != 0) ||
      retried([&] { return ::fchmod(fd_.get(), wanted.st_mode & kPermissions); }) != 0) {
    throw system_error("io.create", "keep the owner and the permissions of", path_, errno);
  }
}

void AtomicFile::begin_writing_back() {
  // Without a flag that waits, the call does not take the error of an earlier write from fsync().
  ::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

void AtomicFile::sync() {
  struct stat info = {};
  if (retried([&] { return ::fstat(fd_.get(), &info); }) != 0) throw commit_error("stat", errno);
  // If more space was reserved than was written, the file ends with zeros, which are cut off here.
  if (info.st_size != bytes_written_ &&
      retried([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(bytes_written_)); }) != 0) {
    throw commit_error("truncate", errno);
  }
  if (retried([&] { return ::fsync(fd_.get()); }) != 0) throw commit_error("sync", errno);
}

void AtomicFile::commit() {
  sync();
  rename();
  sync_directory(parent_directory(path_));
}

bool AtomicFile::commit_if_absent() {
  sync();
  if (const int error = fd_.close(); error != 0) throw commit_error("close", error);
  const int linked = retried([&] { return ::link(temp_path_.c_str(), path_.c_str()); });
  if (linked != 0 && errno != EEXIST) throw commit_error("create", errno);
  remove_file(temp_path_);
  if (linked == 0) sync_directory(parent_directory(path_));
  return linked == 0;
}

void AtomicFile::rename() {
  if (const int error = fd_.close(); error != 0) throw commit_error("close", error);
  if (retried([&] { return ::rename(temp_path_.c_str(), path_.c_str()); }) != 0)
    throw commit_error("rename", errno);
}

void write_file_durably(const std::string& path, std::string_view content) {
  AtomicFile file(path, 0);
  file.write(content.data(), content.size());
  file.commit();
}

void write_file_without_sync(const std::string& path, std::string_view content) {
  AtomicFile file(path, 0);
  file.write(content.data(), content.size());
  file.rename();
}

}  // namespace encode
