// Bytes of an input in order, decompressed where its name says so. A source holds one block in
// memory, whatever the size of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/hash.h"

namespace encode {

enum class Compression { kNone, kGzip, kZstd };

// The file as it lies on disk. Its size is fixed when it is opened: a file that shrinks or grows
// under the reader is an Error (kIoError), never a shorter or longer input.
class DiskFile {
 public:
  // `hashed`: every byte read goes into the SHA-256.
  DiskFile(std::string path, bool hashed);

  size_t read(char* data, size_t size);  // 0 only at the end
  void seek(int64_t offset);

  int64_t offset() const { return offset_; }
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Reads what is left and returns the SHA-256 of all bytes, in hex. Needs `hashed` and no seek
  // before.
  std::string finish_hash();

 private:
  std::string path_;
  UniqueFd fd_;
  int64_t size_ = 0;
  int64_t offset_ = 0;
  std::optional<Sha256> hash_;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes, 0 only at the end. A truncated or corrupt file gives all bytes before the
  // damage, then an Error (kData) that names the offset in the file.
  virtual size_t read(char* data, size_t size) = 0;
  // To `offset` in the decompressed bytes; a compressed source decompresses up to there.
  virtual void seek(int64_t offset) = 0;
};

// `file` must outlive the source.
std::unique_ptr<ByteSource> make_byte_source(DiskFile& file, Compression compression);

}  // namespace encode
