// What the decompressing sources share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/error.h"

#include "text/byte_source.h"

namespace encode {

// A source that can only go forward: seeking back starts over.
class CompressedSource : public ByteSource {
 public:
  size_t read(char* data, size_t size) final;
  void seek(int64_t offset) final;

 protected:
  explicit CompressedSource(DiskFile& file);

  // As ByteSource::read.
  virtual size_t decompress(char* data, size_t size) = 0;
  virtual void reset() = 0;

  // Reads the next block of the file into input(); false at its end.
  bool fill();
  const std::vector<char>& input() const { return input_; }
  size_t input_size() const { return input_size_; }
  Error corrupt(const std::string& code, const std::string& problem, size_t unread_bytes) const;
  Error truncated(const std::string& code) const;

 private:
  DiskFile& file_;
  std::vector<char> input_;
  size_t input_size_ = 0;
  int64_t offset_ = 0;  // decompressed bytes given out
};

// RFC 1952, any number of members; zero bytes after the last one (tape padding) are skipped as gzip
// does.
std::unique_ptr<ByteSource> make_gzip_source(DiskFile& file);
// RFC 8878, any number of frames, windows up to 128 MiB.
std::unique_ptr<ByteSource> make_zstd_source(DiskFile& file);

}  // namespace encode
