#include <memory>
#include <new>

#include <zstd.h>

#include "text/compressed_source.h"

namespace encode {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdSource final : public CompressedSource {
 public:
  explicit ZstdSource(DiskFile& file) : CompressedSource(file), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
  }

 private:
  size_t decompress(char* data, size_t size) override;
  void reset() override;

  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  ZSTD_inBuffer in_ = {};
  bool frame_done_ = false;  // false before the first frame, so that an empty file is an error
};

size_t ZstdSource::decompress(char* data, size_t size) {
  for (;;) {
    bool more = true;
    if (in_.pos == in_.size) {
      more = fill();
      if (!more && frame_done_) return 0;
      in_ = {input().data(), input_size(), 0};
    }
    ZSTD_outBuffer out = {data, size, 0};
    const size_t status = ZSTD_decompressStream(context_.get(), &out, &in_);
    if (ZSTD_isError(status) != 0) {
      throw corrupt("zstd.corrupt", ZSTD_getErrorName(status), in_.size - in_.pos);
    }
    frame_done_ = status == 0;
    if (out.pos > 0) return out.pos;
    if (!more && !frame_done_) throw truncated("zstd.truncated");
  }
}

void ZstdSource::reset() {
  ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  in_ = {};
  frame_done_ = false;
}

}  // namespace

std::unique_ptr<ByteSource> make_zstd_source(DiskFile& file) {
  return std::make_unique<ZstdSource>(file);
}

}  // namespace encode
