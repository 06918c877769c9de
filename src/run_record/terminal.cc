#include "run_record/terminal.h"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "base/wrap_text.h"

namespace encode {
namespace {

bool can_redraw(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org
  return no_color == nullptr || *no_color == '\0';
}

}  // namespace

Terminal::Terminal(int fd) : fd_(fd), live_(can_redraw(fd)), color_(live_ && wants_color()) {}

Terminal::~Terminal() { set_status(""); }

size_t Terminal::columns() const {
  struct winsize size = {};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string Terminal::wrapped(std::string text, size_t indent) const {
  return live_ ? wrap_text(text, text_columns(), indent) : std::move(text);
}

// Returns the characters that erase the status line. A terminal that became narrower has wrapped
// the line over several rows, and all of them must be erased.
std::string Terminal::erase_sequence() const {
  if (status_.empty()) return "";
  const size_t rows_above = (status_.size() - 1) / columns();
  std::string sequence = "\r";
  if (rows_above > 0) sequence += fmt::format("\x1b[{}A", rows_above);
  return sequence + "\x1b[J";
}

void Terminal::write(std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  send(erase_sequence().append(text).append(status_));
}

void Terminal::set_status(std::string line) noexcept {
  if (!live_) return;
  const std::lock_guard lock(mutex_);
  const std::string erase = erase_sequence();
  status_ = std::move(line);
  if (const size_t width = columns(); status_.size() >= width)
    status_.resize(width > 0 ? width - 1 : 0);
  send(erase + status_);
}

void Terminal::send(std::string_view bytes) const noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace encode
