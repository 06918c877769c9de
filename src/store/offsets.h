// Where the vectors of each row begin in a matrix of token embeddings: OUT.offsets.npy, int64
// [rows + 1]. Row r has the vectors [offsets[r], offsets[r + 1]).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

class OffsetsWriter {
 public:
  OffsetsWriter(const std::string& path, int64_t rows);

  // The vectors of the next rows. Throws Error kIoError, kInternal beyond the last row.
  void append(std::span<const int32_t> lengths);
  // The rows of another such file. Throws Error kData unless it is what `seal` was made of.
  void append_file(const std::string& path, const FileSeal& seal);
  // Throws Error kInternal where rows are missing. On return the file survives power loss.
  FileSeal publish();

  int64_t vectors() const { return vectors_; }

 private:
  void append_offset(int64_t offset);
  void flush();

  int64_t rows_;
  int64_t rows_written_ = 0;
  int64_t vectors_ = 0;
  std::vector<int64_t> buffer_;
  AtomicFile file_;
  Xxh3 hash_;
};

}  // namespace encode
