// Reads lines from a non-blocking descriptor in bounded memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace encode {

// Not thread-safe.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = 1 << 20;

  // The caller keeps `fd` open.
  LineReader(int fd, std::function<void(std::string_view)> on_line)
      : fd_(fd), on_line_(std::move(on_line)) {}

  // Returns -1 after the end of the stream, because poll() ignores an entry with that descriptor.
  int fd() const { return open_ ? fd_ : -1; }
  // Reads all bytes that are available and calls on_line for every whole line, without its '\n'. A
  // line longer than kMaxLineBytes comes in pieces. At the end of the stream a last line without
  // '\n' comes too. Throws no Error of its own, and passes on what on_line throws. A read error
  // counts as the end of the stream, except EINTR and EAGAIN: the supervisor learns from the exit
  // status why the worker has ended.
  void drain();

 private:
  void take(std::string_view bytes);

  int fd_;
  bool open_ = true;
  std::string partial_;
  std::function<void(std::string_view)> on_line_;
};

}  // namespace encode
