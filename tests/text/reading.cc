#include "reading.h"

#include <fmt/format.h>
#include <stdexcept>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace encode::testing {

std::vector<std::string> rows_of(const InputOptions& options, size_t block_bytes) {
  RowReader reader(options, RowReader::Purpose::kRead, block_bytes);
  std::vector<std::string> rows;
  for (Text text; reader.next(text);) {
    EXPECT_EQ(text.row, static_cast<int64_t>(rows.size()));
    rows.push_back(fmt::format("line {}: {}", text.line, text.utf8));
  }
  return rows;
}

std::vector<std::string> texts_of(const InputOptions& options, size_t block_bytes) {
  RowReader reader(options, RowReader::Purpose::kRead, block_bytes);
  std::vector<std::string> texts;
  for (Text text; reader.next(text);) texts.push_back(text.utf8);
  return texts;
}

std::vector<std::string> rejections_of(const InputOptions& options) {
  std::vector<std::string> rejections;
  scan_texts(options, [&](const RejectedRow& rejected) {
    rejections.push_back(fmt::format("{}: {}", rejected.line, rejected.reason));
  });
  return rejections;
}

InputScan scan_in_blocks(const InputOptions& options, size_t block_bytes) {
  return RowReader(options, RowReader::Purpose::kScan, block_bytes).scan({});
}

ErrorDetail error_of(const InputOptions& options) {
  try {
    scan_texts(options, {});
  } catch (const Error& error) {
    return error.detail();
  }
  ADD_FAILURE() << "no error for " << options.path;
  return {};
}

std::string gzip(std::string_view bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

InputOptions lenient(InputOptions options) {
  options.bad_row = BadRowPolicy::kReject;
  return options;
}

}  // namespace encode::testing
