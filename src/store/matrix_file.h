// Writes a .npy matrix from its first row to its last, and hashes every byte that it writes.
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
  RowRange rows;  // the rows of the stream that the file holds; errors name rows by these numbers
  int64_t columns = 0;
  std::string descr = "<f4";  // the element type, one that read_npy_header() accepts
  // True if the number of vectors is known only at the end, as for token embeddings.
  bool counted_at_end = false;
};

// Writes a .npy file. If a writer is destroyed before publish(), it removes its temporary file. Not
// thread-safe.
class NpyWriter {
 public:
  // Reserves disk space for the whole file, unless the vectors are counted at the end. Throws Error
  // kCantCreate, kNoPermission, kIoError.
  NpyWriter(const std::string& path, MatrixShape shape);

  // Appends whole rows to a float32 matrix. Throws Error kData if a value is not finite, kIoError,
  // or kInternal if the last row is incomplete or the matrix has more rows than the shape.
  void append(std::span<const float> values);
  // Appends whole rows of any type, in the byte format of the file. Throws as append() does.
  void append_bytes(std::span<const std::byte> bytes);
  // Publishes the file under its name. When publish() returns, the file survives power loss. If the
  // vectors are counted at the end, it first writes the header again and reads the whole file for
  // its hash. Throws Error kInternal if rows are missing, or kIoError.
  void publish();

  const std::string& path() const { return file_.path(); }
  int64_t rows_written() const { return rows_written_; }  // the number of rows of the matrix so far
  int64_t bytes_written() const { return file_.bytes_written(); }
  std::string xxh3_hex() const { return hash_.hex(); }  // the hash of the file, after publish()

 private:
  void write_header_again();

  MatrixShape shape_;
  int64_t row_bytes_ = 0;
  int64_t rows_written_ = 0;
  AtomicFile file_;
  Xxh3 hash_;
};

}  // namespace encode
