// Writes the offsets file of a matrix of token embeddings: an int64 vector [rows + 1] that says
// where the vectors of each row begin. Row r has the vectors [offsets[r], offsets[r + 1]).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "encode/store.h"

#include "store/numbers_writer.h"

namespace encode {

// A writer that is destroyed before publish() removes its temporary file. Not thread-safe.
class OffsetsWriter {
 public:
  // Throws what NumbersWriter throws; so do append(), publish() and sync().
  OffsetsWriter(const std::string& path, int64_t rows);

  // Appends lengths.size() rows. lengths[i] is the number of vectors of the i-th appended row.
  void append(std::span<const int32_t> lengths);
  // Appends the rows of the offsets file at `path`. Throws Error kData if its size or checksum
  // differs from `seal`.
  void append_file(const std::string& path, const FileSeal& seal);
  FileSeal publish() { return offsets_.publish(); }
  // sync() and then rename() do what publish() does, except that the folder is not synced.
  FileSeal sync() { return offsets_.sync(); }
  void rename() { offsets_.rename(); }

  int64_t vectors() const { return vectors_; }  // the number of vectors of the rows so far

 private:
  int64_t vectors_ = 0;
  NumbersWriter offsets_;
};

}  // namespace encode
