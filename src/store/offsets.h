// Writes the offsets file of a matrix of token embeddings: an int64 vector [rows + 1] that says
// where the vectors of each row begin. Row r has the vectors [offsets[r], offsets[r + 1]).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

// A writer that is destroyed before publish() removes its temporary file. Not thread-safe.
class OffsetsWriter {
 public:
  // Throws Error kCantCreate, kNoPermission, kIoError.
  OffsetsWriter(const std::string& path, int64_t rows);

  // Appends lengths.size() rows. lengths[i] is the number of vectors of the i-th appended row.
  // Throws Error kIoError, or kInternal if the file then has more than `rows` rows.
  void append(std::span<const int32_t> lengths);
  // Appends the rows of the offsets file at `path`. Throws Error kData if its size or checksum
  // differs from `seal`.
  void append_file(const std::string& path, const FileSeal& seal);
  // Publishes the file. When publish() returns, the file survives power loss. Throws Error
  // kInternal if rows are missing, and kIoError if writing fails.
  FileSeal publish();
  // sync() and then rename() do what publish() does, except that the folder is not synced.
  FileSeal sync();
  void rename() { file_.rename(); }

  int64_t vectors() const { return vectors_; }  // the number of vectors of the rows so far

 private:
  void append_offset(int64_t offset);
  void flush();
  void end();
  FileSeal seal() const;

  int64_t rows_;
  int64_t rows_written_ = 0;
  int64_t vectors_ = 0;
  std::vector<int64_t> buffer_;
  AtomicFile file_;
  Xxh3 hash_;
};

}  // namespace encode
