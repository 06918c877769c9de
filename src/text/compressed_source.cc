#include "text/compressed_source.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace encode {
namespace {

constexpr size_t kInputBytes = size_t{128} << 10;
constexpr size_t kStartBytes = 32;  // the bytes that an error shows

const CompressionFacts& facts_of(Compression compression) {
  return *std::ranges::find(kCompressions, compression, &CompressionFacts::compression);
}

}  // namespace

CompressedSource::CompressedSource(DiskFile& file, Compression compression)
    : file_(file), facts_(facts_of(compression)), input_(kInputBytes) {}

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
  const bool first = file_.offset() == 0;
  input_size_ = file_.read(input_.data(), input_.size());
  if (first) start_.assign(input_.data(), std::min(input_size_, kStartBytes));
  return input_size_ > 0;
}

Error CompressedSource::corrupt(ErrorCode code, const std::string& problem,
                                size_t unread_bytes) const {
  if (offset_ == 0 && !start_.starts_with(facts_.magic)) return not_compressed(code);
  const int64_t at = file_.offset() - static_cast<int64_t>(unread_bytes);
  return Error(
      {.code = code,
       .exit_code = ExitCode::kData,
       .what = "the compressed file is damaged",
       .where = file_.path(),
       .expected = fmt::format("an undamaged {} stream", facts_.title),
       .found = fmt::format("{}, near byte {} of the file", problem, at),
       .hint = fmt::format("fetch or compress the file again; {} -t tests a file", facts_.title)});
}

Error CompressedSource::not_compressed(ErrorCode code) const {
  return Error({.code = code,
                .exit_code = ExitCode::kData,
                .what = fmt::format("the file is not compressed with {}", facts_.title),
                .where = file_.path(),
                .expected = fmt::format("a file that begins with the bytes {:02X}",
                                        fmt::join(facts_.magic, " ")),
                .found = fmt::format("'{}'", preview(start_)),
                .hint = fmt::format("remove .{} from the name, or compress the file with {}",
                                    facts_.name, facts_.title)});
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
