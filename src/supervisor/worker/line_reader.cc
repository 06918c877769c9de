#include "supervisor/worker/line_reader.h"

#include <array>
#include <cerrno>
#include <unistd.h>

namespace encode {

void LineReader::drain() {
  std::array<char, 16384> buffer{};
  while (open_) {
    const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n > 0) {
      take({buffer.data(), static_cast<size_t>(n)});
      continue;
    }
    open_ = false;
    if (!partial_.empty()) on_line_(partial_);
    partial_.clear();
  }
}

void LineReader::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    partial_.append(bytes.substr(0, newline));
    const bool whole = newline != std::string_view::npos;
    bytes.remove_prefix(whole ? newline + 1 : bytes.size());
    if (!whole && partial_.size() < kMaxLineBytes) return;
    on_line_(partial_);
    partial_.clear();
  }
}

}  // namespace encode
