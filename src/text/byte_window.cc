#include "text/byte_window.h"

#include <cstring>
#include <utility>

#include "encode/error.h"

namespace encode {

ByteWindow::ByteWindow(std::unique_ptr<ByteSource> source, size_t block_bytes)
    : source_(std::move(source)),
      block_bytes_(block_bytes),
      buffer_(2 * block_bytes + kPaddingBytes) {}

bool ByteWindow::extend() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + block_bytes_ + kPaddingBytes) buffer_.resize(2 * buffer_.size());
  const size_t n = source_->read(buffer_.data() + end_, block_bytes_);
  end_ += n;
  return n > 0;
}

std::string_view ByteWindow::peek(size_t size) {
  try {
    while (view().size() < size && extend()) {
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): see the header
  }
  return view().substr(0, size);
}

void ByteWindow::seek(int64_t offset) {
  const int64_t ahead = offset - offset_;
  if (ahead >= 0 && ahead <= static_cast<int64_t>(end_ - begin_)) {
    consume(static_cast<size_t>(ahead));
    return;
  }
  source_->seek(offset);
  begin_ = end_ = 0;
  offset_ = offset;
}

}  // namespace encode
