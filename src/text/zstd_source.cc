#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <memory>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/host.h"
#include "base/units.h"
#include "text/compressed_source.h"

namespace encode {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// The library holds one window of the decompressed bytes. A window of up to 128 MiB, which the zstd
// tool accepts without an option, is always accepted; a larger one (zstd --long=28 to 31) only if
// it fits in a quarter of the host's memory, because other files and the model need room too.
constexpr int kLeastWindowLog = 27;
constexpr int kMostWindowLog = 31;
constexpr int64_t kWindowShares = 4;

int largest_window_log() {
  const int64_t bytes = host_memory().limit_bytes / kWindowShares;
  const int log = std::bit_width(static_cast<uint64_t>(bytes)) - 1;
  return std::clamp(log, kLeastWindowLog, kMostWindowLog);
}

class ZstdSource final : public CompressedSource {
 public:
  explicit ZstdSource(DiskFile& file)
      : CompressedSource(file, Compression::kZstd),
        context_(ZSTD_createDCtx()),
        window_log_(largest_window_log()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log_);
  }

 private:
  size_t decompress(char* data, size_t size) override;
  void reset() override;
  [[noreturn]] void refuse(size_t status) const;

  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  int window_log_;
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
    if (ZSTD_isError(status) != 0) refuse(status);
    frame_done_ = status == 0;
    if (out.pos > 0) return out.pos;
    if (!more && !frame_done_) throw truncated("zstd.truncated");
  }
}

void ZstdSource::refuse(size_t status) const {
  const ZSTD_ErrorCode error = ZSTD_getErrorCode(status);
  if (error == ZSTD_error_memory_allocation) throw std::bad_alloc();
  if (error != ZSTD_error_frameParameter_windowTooLarge)
    throw corrupt("zstd.corrupt", ZSTD_getErrorName(status), in_.size - in_.pos);
  throw Error(
      {.code = "zstd.window",
       .what = "the compressed file needs a larger window than encode takes on this host",
       .where = path(),
       .expected = fmt::format("a window of at most {}, a quarter of the host's memory (128 MiB to "
                               "2 GiB)",
                               format_bytes(int64_t{1} << window_log_)),
       .found = "a larger window in the header of a frame",
       .hint =
           "the file is not damaged. Compress it again with a smaller window: zstd -dc --long=31 "
           "FILE | zstd -o NEW_FILE"});
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
