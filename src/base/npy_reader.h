// Reads a .npy matrix from its first row to its last and hashes every byte on the way.
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
