// The base class of the sources that decompress gzip and zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "encode/error.h"

#include "base/input_format.h"
#include "text/byte_source.h"

namespace encode {

// A source that can only read forward. To go back, seek() starts again at the beginning of the
// file. Has the thread rule and the failures of ByteSource.
class CompressedSource : public ByteSource {
 public:
  size_t read(char* data, size_t size) final;
  void seek(int64_t offset) final;

 protected:
  CompressedSource(DiskFile& file, Compression compression);

  // Does what ByteSource::read() describes.
  virtual size_t decompress(char* data, size_t size) = 0;
  virtual void reset() = 0;  // prepares decompress() to start at the first byte of the file

  // Reads the next block of the compressed file into input(). Returns false at the end of the file.
  bool fill();
  const std::vector<char>& input() const { return input_; }
  size_t input_size() const { return input_size_; }
  const std::string& path() const { return file_.path(); }
  // Returns the error for data that cannot be decompressed, or for a file of another kind.
  // `unread_bytes` is the size of the part of input() that was not read.
  Error corrupt(ErrorCode code, const std::string& problem, size_t unread_bytes) const;
  Error truncated(ErrorCode code) const;

 private:
  Error not_compressed(ErrorCode code) const;

  DiskFile& file_;
  const CompressionFacts& facts_;
  std::vector<char> input_;
  size_t input_size_ = 0;
  std::string start_;           // the first bytes of the file, once they are read
  std::exception_ptr failure_;  // every later read() throws it again
  int64_t offset_ = 0;          // the number of decompressed bytes that read() has returned
};

// Reads RFC 1952 with any number of members. Skips zero bytes after a member (tape padding), as
// gzip does. `file` must outlive the source. Damage is Error kData "gzip.corrupt" or
// "gzip.truncated".
std::unique_ptr<ByteSource> make_gzip_source(DiskFile& file);
// Reads RFC 8878 with any number of frames. It takes the memory of the largest window, at most a
// quarter of the host's memory (but 128 MiB on every host, and never more than 2 GiB). `file` must
// outlive the source. Damage is Error kData "zstd.corrupt" or "zstd.truncated", and a larger window
// is Error kData "zstd.window".
std::unique_ptr<ByteSource> make_zstd_source(DiskFile& file);

}  // namespace encode
