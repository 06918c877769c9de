#include "store/offsets.h"

#include <bit>
#include <fmt/format.h>
#include <string_view>

#include "base/npy.h"
#include "store/audit.h"
#include "store/sealed_file.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The numbers are written as they are in memory, and the file has little-endian numbers ("<i8").
static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kDescr = "<i8";
constexpr size_t kBufferedOffsets = 8192;

int64_t file_bytes(int64_t rows) {
  return kNpyHeaderBytes + (rows + 1) * static_cast<int64_t>(sizeof(int64_t));
}

constexpr const char* kMisfit = "the offsets do not fit the matrix";

}  // namespace

OffsetsWriter::OffsetsWriter(const std::string& path, int64_t rows)
    : rows_(rows), file_(path, file_bytes(rows)) {
  const std::string header = make_npy_vector_header(rows + 1, kDescr);
  hash_.update(header.data(), header.size());
  file_.write(header.data(), header.size());
  buffer_.reserve(kBufferedOffsets);
  append_offset(0);
}

void OffsetsWriter::append(std::span<const int32_t> lengths) {
  if (static_cast<int64_t>(lengths.size()) > rows_ - rows_written_) {
    throw misuse(kMisfit, file_.path(), fmt::format("at most {} rows", rows_),
                 fmt::format("{} rows", rows_written_ + static_cast<int64_t>(lengths.size())));
  }
  for (const int32_t length : lengths) append_offset(vectors_ + length);
  rows_written_ += static_cast<int64_t>(lengths.size());
}

void OffsetsWriter::append_file(const std::string& path, const FileSeal& seal) {
  const int64_t base = vectors_;
  int64_t count = -1;  // skips the first offset, which is 0 and is already written
  read_sealed_numbers(path, seal, [&](int64_t offset) {
    if (++count > 0) append_offset(base + offset);
  });
  rows_written_ += count;
}

FileSeal OffsetsWriter::publish() {
  end();
  file_.commit();
  return seal();
}

FileSeal OffsetsWriter::sync() {
  end();
  file_.sync();
  return seal();
}

void OffsetsWriter::end() {
  flush();
  if (rows_written_ != rows_) {
    throw misuse(kMisfit, file_.path(), fmt::format("{} rows", rows_),
                 fmt::format("{} rows", rows_written_));
  }
}

FileSeal OffsetsWriter::seal() const {
  return {.file_bytes = file_.bytes_written(), .xxh3_128 = hash_.hex()};
}

void OffsetsWriter::append_offset(int64_t offset) {
  vectors_ = offset;
  buffer_.push_back(offset);
  if (buffer_.size() == kBufferedOffsets) flush();
}

void OffsetsWriter::flush() {
  const size_t bytes = buffer_.size() * sizeof(int64_t);
  hash_.update(buffer_.data(), bytes);
  file_.write(buffer_.data(), bytes);
  buffer_.clear();
}

std::string check_offsets(const std::string& path, const FileSeal& seal, int64_t rows,
                          int64_t vectors) {
  if (std::string wrong = check_sealed_file(path, seal); !wrong.empty()) return wrong;
  int64_t count = 0;
  int64_t last = 0;
  bool ascending = true;
  read_sealed_numbers(path, seal, [&](int64_t offset) {
    ascending = ascending && (count == 0 ? offset == 0 : offset >= last);
    last = offset;
    ++count;
  });
  if (count != rows + 1) return fmt::format("it has {} offsets for {} rows", count, rows);
  if (!ascending) return "its offsets do not ascend from 0";
  if (last == vectors) return "";
  return fmt::format("its last offset is {}, but the matrix has {} vectors", last, vectors);
}

}  // namespace encode
