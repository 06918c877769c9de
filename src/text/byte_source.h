// Reads the bytes of an input in order, and decompresses them if the file is compressed. The memory
// of a source does not depend on the size of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "base/input_format.h"
#include "text/file_identity.h"

namespace encode {

// The bytes of the file as stored on disk. If the file shrinks or grows while it is read, read()
// throws Error kIoError "text.changed", so that the input never silently becomes shorter or longer.
// Not thread-safe.
class DiskFile {
 public:
  // If `hashed`, every byte that is read goes into the SHA-256. Throws what open_for_reading()
  // throws.
  DiskFile(std::string path, bool hashed);

  // Reads up to `size` bytes and returns how many it has read.
  size_t read(char* data, size_t size);  // returns 0 only at the end
  // Goes to `offset`, or to the end if the file is shorter.
  void seek(int64_t offset);

  int64_t offset() const { return offset_; }
  int64_t size() const { return opened_.bytes; }
  const FileIdentity& identity() const { return opened_; }  // when it was opened
  const std::string& path() const { return path_; }

  // Reads the rest of the file and returns the SHA-256 of all its bytes, in hex. The file must be
  // opened with `hashed`, and seek() must not have been called. Throws what read() throws.
  std::string finish_hash();

 private:
  std::string path_;
  UniqueFd fd_;
  FileIdentity opened_;
  int64_t offset_ = 0;
  std::optional<Sha256> hash_;
};

// One thread at a time may use a source. It throws Error kIoError as DiskFile::read() does.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `size` bytes and returns how many it has read, 0 only at the end. From a truncated
  // or corrupt file it reads all bytes before the damage. The next calls throw Error (kData) with
  // the offset in the file, until seek() goes back.
  virtual size_t read(char* data, size_t size) = 0;
  // Goes to `offset` in the decompressed bytes. A compressed source decompresses the bytes up to
  // `offset`: from its current place, or from the beginning of the file if `offset` lies before
  // that place.
  virtual void seek(int64_t offset) = 0;
};

// `file` must outlive the source.
std::unique_ptr<ByteSource> make_byte_source(DiskFile& file, Compression compression);

}  // namespace encode
