#include <algorithm>
#include <limits>
#include <new>

#include <zlib.h>

#include "text/compressed_source.h"

namespace encode {
namespace {

class GzipSource final : public CompressedSource {
 public:
  explicit GzipSource(DiskFile& file) : CompressedSource(file, Compression::kGzip) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  size_t decompress(char* data, size_t size) override;
  void reset() override;
  bool next_member();
  bool refill();

  z_stream stream_ = {};
  bool member_done_ = false;
};

size_t GzipSource::decompress(char* data, size_t size) {
  size = std::min<size_t>(size, std::numeric_limits<uInt>::max());
  for (;;) {
    if (member_done_ && !next_member()) return 0;
    const bool more = stream_.avail_in > 0 || refill();
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = static_cast<uInt>(size);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const size_t produced = size - stream_.avail_out;
    member_done_ = status == Z_STREAM_END;
    // Returns the bytes before a damaged place without an error. zlib reports the error again in
    // the next call.
    if (produced > 0) return produced;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      throw corrupt("gzip.corrupt", stream_.msg != nullptr ? stream_.msg : "not a gzip stream",
                    stream_.avail_in);
    }
    if (!more && !member_done_) throw truncated("gzip.truncated");
  }
}

bool GzipSource::refill() {
  if (!fill()) return false;
  // zlib does not write to its input, although next_in does not point to const.
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input().data()));
  stream_.avail_in = static_cast<uInt>(input_size());
  return true;
}

bool GzipSource::next_member() {
  for (;;) {
    if (stream_.avail_in == 0 && !refill()) return false;
    if (*stream_.next_in != 0) break;
    ++stream_.next_in;
    --stream_.avail_in;
  }
  inflateReset(&stream_);
  member_done_ = false;
  return true;
}

void GzipSource::reset() {
  inflateReset(&stream_);
  stream_.avail_in = 0;
  member_done_ = false;
}

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(DiskFile& file) {
  return std::make_unique<GzipSource>(file);
}

}  // namespace encode
