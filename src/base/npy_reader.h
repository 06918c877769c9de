// Reads a .npy matrix from the first row to the last, and hashes every byte that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/npy.h"

namespace encode {

enum class Elements { kFloat32, kAny };

// One thread at a time may use it.
class NpyReader {
 public:
  // Throws Error kNoInput if the file is missing. Throws Error kData if the file is not a matrix
  // with at least one column, if its size does not fit its header, or if `elements` is kFloat32 and
  // the elements are not float32.
  explicit NpyReader(std::string path, Elements elements = Elements::kFloat32);

  const std::string& path() const { return path_; }
  const NpyHeader& header() const { return header_; }
  int64_t rows() const { return header_.rows; }
  int64_t dim() const { return header_.cols; }
  ItemType item() const { return header_.item; }
  int64_t row_bytes() const { return header_.cols * header_.item_bytes(); }
  int64_t file_bytes() const { return header_.file_bytes(); }
  // Returns the number of rows that fit in 1 MiB, at least 1.
  int64_t block_rows() const;

  // Return the next rows, at most `max_rows` of them; empty at the end. The memory is valid until
  // the next call. next() is only for float32. Throws Error kIoError if reading fails or the file
  // has become shorter.
  std::span<const float> next(int64_t max_rows);
  std::span<const std::byte> next_bytes(int64_t max_rows);
  // Returns the hash of the header and of all rows that were read so far.
  std::string xxh3_hex() const { return hash_.hex(); }
  // Also adds the header and all rows to `sha256`, which must outlive the reader. Must be called
  // before the first row is read.
  void also_hash(Sha256& sha256);

 private:
  void hash(const void* data, size_t size);

  std::string path_;
  UniqueFd fd_;
  NpyHeader header_;
  std::string header_bytes_;
  int64_t row_ = 0;
  std::vector<float> buffer_;  // its elements are floats, so that the bytes are aligned for next()
  Xxh3 hash_;
  Sha256* sha256_ = nullptr;
};

}  // namespace encode
