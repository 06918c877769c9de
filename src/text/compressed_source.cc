#include "text/compressed_source.h"

#include <algorithm>
#include <fmt/format.h>

namespace encode {
namespace {

constexpr size_t kInputBytes = size_t{128} << 10;

}  // namespace

CompressedSource::CompressedSource(DiskFile& file) : file_(file), input_(kInputBytes) {}

size_t CompressedSource::read(char* data, size_t size) {
  if (failure_) std::rethrow_exception(failure_);
  size_t n = 0;
  try {
    n = decompress(data, size);
  } catch (const Error&) {
    failure_ = std::current_exception();
    throw;
  }
  offset_ += static_cast<int64_t>(n);
  return n;
}

void CompressedSource::seek(int64_t offset) {
  if (offset < offset_) {
    file_.seek(0);
    input_size_ = 0;
    offset_ = 0;
    failure_ = nullptr;
    reset();
  }
  std::vector<char> skipped(
      static_cast<size_t>(std::min<int64_t>(offset - offset_, static_cast<int64_t>(kInputBytes))));
  while (offset_ < offset) {
    const int64_t wanted =
        std::min<int64_t>(offset - offset_, static_cast<int64_t>(skipped.size()));
    if (read(skipped.data(), static_cast<size_t>(wanted)) == 0) return;
  }
}

bool CompressedSource::fill() {
  input_size_ = file_.read(input_.data(), input_.size());
  return input_size_ > 0;
}

Error CompressedSource::corrupt(ErrorCode code, const std::string& problem,
                                size_t unread_bytes) const {
  const int64_t at = file_.offset() - static_cast<int64_t>(unread_bytes);
  return Error({.code = code,
                .exit_code = ExitCode::kData,
                .what = "the compressed file is damaged",
                .where = file_.path(),
                .expected = "a complete and undamaged gzip or zstd stream",
                .found = fmt::format("{}, near byte {} of the file", problem, at),
                .hint = "fetch or compress the file again; gzip -t and zstd -t test a file"});
}

Error CompressedSource::truncated(ErrorCode code) const {
  return Error({.code = code,
                .exit_code = ExitCode::kData,
                .what = "the compressed file ends in the middle of its data",
                .where = file_.path(),
                .expected = "the end of the compressed stream",
                .found = file_.size() == 0
                             ? "no bytes: the file is empty"
                             : fmt::format("the end of the file, at byte {}", file_.size()),
                .hint = "copy or compress the file again, in full"});
}

}  // namespace encode
