#include "store/numbers_writer.h"

#include <bit>
#include <fmt/format.h>
#include <string_view>

#include "base/npy.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The numbers are written as they are in memory, and the file has little-endian numbers ("<i8").
static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kInt64Descr = "<i8";
constexpr size_t kBufferedNumbers = 8192;

int64_t bytes_of_numbers(int64_t count) {
  return kNpyHeaderBytes + count * static_cast<int64_t>(sizeof(int64_t));
}

}  // namespace

NumbersWriter::NumbersWriter(const std::string& path, int64_t count)
    : count_(count), file_(path, bytes_of_numbers(count)) {
  const std::string header = make_npy_vector_header(count, kInt64Descr);
  hash_.update(header.data(), header.size());
  file_.write(header.data(), header.size());
  buffer_.reserve(kBufferedNumbers);
}

void NumbersWriter::append(int64_t number) {
  if (appended_++ == count_) throw misfit();
  buffer_.push_back(number);
  if (buffer_.size() == kBufferedNumbers) flush();
}

FileSeal NumbersWriter::publish() {
  end();
  file_.commit();
  return seal();
}

FileSeal NumbersWriter::sync() {
  end();
  file_.sync();
  return seal();
}

void NumbersWriter::end() {
  flush();
  if (appended_ != count_) throw misfit();
}

Error NumbersWriter::misfit() const {
  return misuse("the numbers beside a matrix do not fit it", file_.path(),
                fmt::format("{} numbers", count_), fmt::format("{} numbers", appended_));
}

FileSeal NumbersWriter::seal() const {
  return {.file_bytes = file_.bytes_written(), .xxh3_128 = hash_.hex()};
}

void NumbersWriter::flush() {
  const size_t bytes = buffer_.size() * sizeof(int64_t);
  hash_.update(buffer_.data(), bytes);
  file_.write(buffer_.data(), bytes);
  buffer_.clear();
}

}  // namespace encode
