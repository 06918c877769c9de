// Files: owned descriptors, whole reads under a limit, and the one way in which this project
// publishes a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  // Closes now. Returns errno, 0 on success: close is where network file systems report a failed
  // write.
  int close();

 private:
  int fd_ = -1;
};

// Opens a regular file for reading. Throws Error: kNoInput if it is missing or is not a regular
// file (a FIFO or device would block or never end), kNoPermission. `code` is the error's code.
UniqueFd open_for_reading(const std::string& path, std::string_view code);
int64_t file_size(const UniqueFd& fd, const std::string& path);

// The whole file, at most `max_bytes`; a larger one is an Error (ExitCode::kConfig) naming the
// limit.
std::string read_file(const std::string& path, int64_t max_bytes, std::string_view code);

// Fills `to` with the bytes at `offset`, or throws Error kIoError. Retries EINTR and short reads.
void pread_all(const UniqueFd& fd, std::span<char> to, int64_t offset, const std::string& path);

// A part of a file in memory, without a copy of its own; a private mapping that may be written to
// without a change of the file. Pages come from the file as they are read: a file that is changed
// meanwhile shows, one that is cut off ends the process (SIGBUS). So take what lasts as a copy.
class MappedRange {
 public:
  // Throws Error: as open_for_reading(); kIoError where the file ends before the range does.
  MappedRange(const std::string& path, int64_t offset, int64_t size, std::string_view code);
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;
  ~MappedRange();

  std::byte* data() const { return data_; }

 private:
  void* pages_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

// All bytes, or Error kIoError. Retries EINTR and short writes.
void write_all(const UniqueFd& fd, const void* data, size_t size, const std::string& path);

// fsync of a directory, so that a rename or a new file in it survives power loss. File systems that
// cannot (EINVAL, ENOTSUP) are tolerated; anything else throws Error kIoError.
void sync_directory(const std::string& path);

// Creates the directory and its parents, each new one synced into its parent. Error kCantCreate /
// kNoPermission.
void create_directories_durably(const std::string& path);

std::string parent_directory(const std::string& path);  // "." where the path has none

// Names in a directory, sorted, without "." and "..". Throws Error kIoError, kNoPermission.
std::vector<std::string> list_directory(const std::string& path);
// Deletes a file; one that is not there is no error.
void remove_file(const std::string& path);

// The file name that a temp file of AtomicFile was to get: ".a.npy.tmp.7.0123456789abcdef" ->
// "a.npy". nullopt for any other name.
std::optional<std::string> temp_file_target(std::string_view name);
// Deletes what crashed writers of `path` left beside it. Only for who holds the lock that guards
// `path`.
void remove_temp_files(const std::string& path);

// Writes a file that appears under its name whole and synced, or not at all:
//   temp file in the same directory, write, fsync, close, rename, fsync of the directory.
// Not yet committed when destroyed: the temp file is removed.
class AtomicFile {
 public:
  // `reserve_bytes` > 0 allocates the space first, so that a full disk is known before the work is
  // done.
  AtomicFile(std::string path, int64_t reserve_bytes);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, size_t size);
  // Writes over what was written before; `offset` + `size` is within it.
  void overwrite(int64_t offset, const void* data, size_t size);
  int64_t bytes_written() const { return bytes_written_; }
  // On return the file survives power loss. A failed fsync is never retried on the same descriptor:
  // the kernel may have dropped the pages and would report success.
  void commit();

  const std::string& path() const { return path_; }
  const std::string& temp_path() const { return temp_path_; }  // where the bytes are until commit()

 private:
  std::string path_;
  std::string temp_path_;
  UniqueFd fd_;
  int64_t bytes_written_ = 0;
};

// AtomicFile with the whole content at hand.
void write_file_durably(const std::string& path, std::string_view content);

}  // namespace encode
