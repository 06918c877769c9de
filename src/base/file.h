// Files: descriptors that close themselves, complete reads and writes, and AtomicFile, with which
// encode writes all its output files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"

namespace encode {

// Owns a file descriptor and closes it in its destructor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();  // gives up the ownership; returns the descriptor, or -1
  // Closes the file now. Returns 0, or an errno value. Check the result after writing, because a
  // network file system may report a failed write only here.
  int close();

 private:
  int fd_ = -1;
};

// In all functions of this file, a `path` next to a descriptor is only for messages, and `code` is
// the code of an Error ("io.read"). A failed system call gives an Error with the exit code of
// exit_code_for_errno(), which the comments below name only for the usual causes. Any number of
// threads may call the functions. The classes are not thread-safe.

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};
// Makes a pipe that a program started by this process does not inherit. `more_flags` are flags of
// pipe2(). Throws Error "os.pipe".
Pipe make_pipe(int more_flags = 0);

// Opens a regular file for reading. Throws Error kNoPermission, or kNoInput if the file is missing
// or is not a regular file (reading a FIFO or a device may block or never end).
UniqueFd open_for_reading(const std::string& path, ErrorCode code);
// Returns true if `path` still leads to the open file `fd`. It leads to another file or to none if
// someone has deleted or replaced the file after it was opened. Throws Error `code` if the file
// system does not say.
bool is_still_named(const UniqueFd& fd, const std::string& path, ErrorCode code);
int64_t file_size(const UniqueFd& fd, const std::string& path);  // in bytes

// Reads a whole file. Throws Error kConfig that names the limit if the file is larger than
// `max_bytes`, and what open_for_reading() throws.
std::string read_file(const std::string& path, int64_t max_bytes, ErrorCode code);

// Reads the bytes at `offset` into `to`. Retries after EINTR and short reads. Returns the number of
// bytes, which is smaller than `to` at the end of the file, or nullopt with the reason in errno.
std::optional<size_t> pread_up_to(const UniqueFd& fd, std::span<char> to, int64_t offset);

// Fills `to` with the bytes at `offset`. Retries after EINTR and short reads. Throws Error
// kIoError, also if the file ends early.
void pread_all(const UniqueFd& fd, std::span<char> to, int64_t offset, const std::string& path);

// Returns the first bytes of a file, fewer than `bytes` if the file is shorter. Throws what
// open_for_reading() and pread_all() throw.
std::string read_head(const std::string& path, int64_t bytes, ErrorCode code);

// Calls `take` with the first `size` bytes of an open file, in order, in blocks of kFileBlockBytes.
// This is a multiple of the size of every element type, so that no block ends inside an element.
// Throws what pread_all() throws.
inline constexpr int64_t kFileBlockBytes = 1 << 20;
void for_blocks(const UniqueFd& fd, int64_t size, const std::string& path,
                const std::function<void(std::string_view)>& take);

// Maps a part of a file into memory. The mapping is private: writing to it does not change the
// file. The kernel reads a page of the file when the page is first used. So if another process
// changes the file, the mapping may show the new bytes. If the file becomes shorter, reading the
// lost part ends this process with SIGBUS. Copy all bytes that must not change.
class MappedRange {
 public:
  // Maps `size` bytes at `offset` of an open file, which may be closed afterwards. `path` is for
  // messages. Throws Error kIoError if the file ends within the range or cannot be mapped.
  MappedRange(const UniqueFd& fd, int64_t offset, int64_t size, const std::string& path);
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;
  ~MappedRange();

  // Returns `size` bytes, which are valid while the object exists.
  std::byte* data() const { return data_; }

 private:
  void* pages_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

// Writes all bytes. Retries after EINTR and short writes. Throws Error kIoError.
void write_all(const UniqueFd& fd, const void* data, size_t size, const std::string& path);

// Calls fsync() on a directory, so that a rename or a new file in it survives power loss. Ignores
// EINVAL and ENOTSUP, with which some file systems refuse fsync() on a directory. Throws Error
// kIoError.
void sync_directory(const std::string& path);

// Creates the directory and its missing parents. Each of them survives power loss. Throws Error
// kCantCreate or kNoPermission.
void create_directories_durably(const std::string& path);

// Returns true if something has this path, also a link that leads to nothing. Only ENOENT and
// ENOTDIR mean that nothing has it. Throws Error kNoPermission, kIoError for any other failure.
bool entry_exists(const std::string& path, ErrorCode code);

std::string parent_directory(const std::string& path);  // "." if the path has no directory

// Returns the names in a directory, sorted, without "." and "..". Throws Error kIoError or
// kNoPermission.
std::vector<std::string> list_directory(const std::string& path);
// Deletes a file. Does nothing if it does not exist. Throws Error kIoError, kNoPermission.
void remove_file(const std::string& path);

// Returns the name of the file for which AtomicFile has made the temporary file `name`. For
// ".a.npy.tmp.7.0123456789abcdef" this is "a.npy". Returns nullopt if `name` does not have this
// form.
std::optional<std::string> temp_file_target(std::string_view name);
// Deletes the temporary files that crashed writers of `path` left beside it. The caller must hold
// the lock that guards `path`. Throws what list_directory() and remove_file() throw.
void remove_temp_files(const std::string& path);

// Writes a file that appears under its name complete and synced, or does not appear at all. The
// bytes go to a temporary file in the same directory. commit() syncs, closes and renames this file,
// and syncs the directory. The destructor removes the temporary file if commit() was not called.
class AtomicFile {
 public:
  // If `reserve_bytes` > 0, reserves this space at once, so that a full disk is an error before any
  // work is done. Throws Error kCantCreate, kNoPermission, kIoError.
  AtomicFile(std::string path, int64_t reserve_bytes);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Throws Error kIoError. So do overwrite() and commit().
  void write(const void* data, size_t size);
  // Makes the file longer, to `size` bytes, which overwrite() then writes in any order. They are 0
  // until then. write() must not follow. Throws Error kIoError.
  void extend(int64_t size);
  // Replaces bytes that were written before. `offset` + `size` must be at most bytes_written().
  // Several threads may call it at the same time.
  void overwrite(int64_t offset, const void* data, size_t size);
  int64_t bytes_written() const { return bytes_written_; }
  // Gives the file the owner and the permissions of another, open file. Throws Error kNoPermission
  // if this user may not give files to that owner.
  void keep_attributes_of(const UniqueFd& original);
  // Lets the kernel begin to write the bytes to the disk, and does not wait. If other files are
  // written between this call and sync(), sync() waits for less. Reports no error: the kernel keeps
  // the error of a failed write, and sync() gets it.
  void begin_writing_back();
  // Publishes the file: calls sync() and rename(), and syncs the directory. When commit() returns,
  // the file survives power loss.
  void commit();
  // If nothing has the name, publishes the file like commit() and returns true. Otherwise removes
  // the temporary file and returns false. Needs a file system with hard links.
  bool commit_if_absent();
  // Makes the content durable under the temporary name. A failed fsync() is an error and is not
  // retried, except after EINTR: the kernel may have dropped the unwritten pages, and a second
  // fsync() would then succeed although they are lost.
  void sync();
  // Gives the file its name. After power loss the name may be missing until the directory is
  // synced. Without sync() before, the file may also be empty, and reserved space is not cut off.
  void rename();

  const std::string& path() const { return path_; }
  const std::string& temp_path() const { return temp_path_; }  // the file's path before commit()

 private:
  Error commit_error(const char* action, int error_number) const;

  std::string path_;
  std::string temp_path_;
  UniqueFd fd_;
  int64_t bytes_written_ = 0;
};

// These functions write an AtomicFile with this content, and throw what AtomicFile throws. The
// second one does not sync it, so after power loss the file may be empty.
void write_file_durably(const std::string& path, std::string_view content);
void write_file_without_sync(const std::string& path, std::string_view content);

}  // namespace encode
