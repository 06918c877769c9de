// Streaming .npy matrices: NpyWriter publishes one, NpyReader reads one, both hash every byte on
// the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/types.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/npy.h"

namespace encode {

// The first value that is not finite, as an offset into `values`; nullopt where all are.
std::optional<size_t> find_non_finite(std::span<const float> values);

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

enum class Elements { kFloat32, kAny };

class NpyReader {
 public:
  // Throws Error: kNoInput, kData for anything but a matrix whose size fits its header, of float32
  // unless other elements are welcome.
  explicit NpyReader(std::string path, Elements elements = Elements::kFloat32);

  const std::string& path() const { return path_; }
  int64_t rows() const { return header_.rows; }
  int64_t dim() const { return header_.cols; }
  const std::string& descr() const { return header_.descr; }
  int64_t row_bytes() const { return header_.cols * header_.item_bytes(); }
  int64_t file_bytes() const { return header_.file_bytes(); }
  // Rows that fit in about 1 MB, at least 1.
  int64_t block_rows() const;

  // The next rows, at most `max_rows`, valid until the next call; empty at the end. next() is for
  // float32.
  std::span<const float> next(int64_t max_rows);
  std::span<const std::byte> next_bytes(int64_t max_rows);
  // Of all bytes up to and including the rows that were given.
  std::string xxh3_hex() const { return hash_.hex(); }
  // Called with the same bytes that are hashed, the header's first.
  void also_hash(Sha256& sha256);

 private:
  void hash(const void* data, size_t size);

  std::string path_;
  UniqueFd fd_;
  NpyHeader header_;
  std::string header_bytes_;
  int64_t row_ = 0;
  std::vector<float> buffer_;  // floats, so that their bytes are aligned for next()
  Xxh3 hash_;
  Sha256* sha256_ = nullptr;
};

}  // namespace encode
