// Writes a .npy matrix from its first row to its last and hashes every byte on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "encode/types.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

struct MatrixShape {
  RowRange rows;  // of the stream that a file holds: they give its shape and name rows in messages
  int64_t columns = 0;
  std::string descr = "<f4";  // one that read_npy_header() takes
  // How many vectors the rows have is known at the end only: a matrix of token embeddings.
  bool counted_at_end = false;
};

class NpyWriter {
 public:
  // Reserves the whole file's space.
  NpyWriter(const std::string& path, MatrixShape shape);

  // Whole rows, for a matrix of float32. Throws Error: kData for a value that is not finite,
  // kIoError, kInternal beyond the last row.
  void append(std::span<const float> values);
  // Whole rows of any type, as they stand in the file.
  void append_bytes(std::span<const std::byte> bytes);
  // Throws Error kInternal where rows are missing. On return the file survives power loss.
  // Where vectors are counted at the end the header is written now, and the file read once for its
  // hash.
  void publish();

  const std::string& path() const { return file_.path(); }
  int64_t rows_written() const { return rows_written_; }
  int64_t bytes_written() const { return file_.bytes_written(); }
  std::string xxh3_hex() const { return hash_.hex(); }

 private:
  void write_header_again();

  MatrixShape shape_;
  int64_t row_bytes_ = 0;
  int64_t rows_written_ = 0;
  AtomicFile file_;
  Xxh3 hash_;
};

}  // namespace encode
