// Writes and reads the file of passages beside a matrix or a chunk: an int64 matrix [vectors, 7]
// whose row i is the PassagePlace of vector i.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

// The numbers of a PassagePlace, which are the columns of the file.
inline constexpr int64_t kPassageColumns = 7;

// A writer that is destroyed before publish() removes its temporary file. Not thread-safe.
class PassagesWriter {
 public:
  // Throws Error kCantCreate, kNoPermission, kIoError.
  explicit PassagesWriter(const std::string& path);

  // Appends passages in the order of their vectors. Throws Error kIoError.
  void append(std::span<const PassagePlace> passages);
  // Appends the passages of the file at `path`. Throws Error kData if its size or checksum differs
  // from `seal`.
  void append_file(const std::string& path, const FileSeal& seal);
  // Publishes the file of a matrix of `vectors` vectors. When publish() returns, the file survives
  // power loss. Throws Error kInternal unless each vector has a passage, and kIoError if writing
  // fails.
  FileSeal publish(int64_t vectors);
  // sync() and then rename() do what publish() does, except that the folder is not synced.
  FileSeal sync(int64_t vectors);
  void rename() { file_.rename(); }

  // The file that the passages are in until it is renamed, for PassageReader.
  const std::string& temp_path() const { return file_.temp_path(); }

 private:
  // Writes the header, which is known only now, and hashes the whole file.
  FileSeal end(int64_t vectors);

  AtomicFile file_;
  int64_t passages_ = 0;
};

// Reads the passages of a file in order, in bounded memory. Compares no hash. Not thread-safe.
class PassageReader {
 public:
  // Throws what open_for_reading() throws.
  explicit PassageReader(std::string path);
  // Throws Error kData "store.damaged" if the file has no more passages, and what pread_all()
  // throws.
  PassagePlace next();

 private:
  std::string path_;
  UniqueFd fd_;
  int64_t size_ = 0;
  int64_t offset_;  // of the first byte that is not in block_
  std::vector<PassagePlace> block_;
  size_t taken_ = 0;  // the passages of block_ that next() has returned
};

// Reads the places of the given vectors, each counted from 0. Compares no hash. Throws Error kData
// "store.damaged" if the file is too short for one of them, and what open_for_reading() throws.
std::vector<PassagePlace> read_passages(const std::string& path, std::span<const int64_t> vectors);

}  // namespace encode
