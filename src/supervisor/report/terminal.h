// A terminal (or whatever standard error is): whole lines, and below them one status line that is
// redrawn in place.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace encode {

// Thread-safe. Never throws: a terminal that went away must not end a run.
class Terminal {
 public:
  explicit Terminal(int fd);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  bool live() const { return live_; }    // a TTY that can redraw a line
  bool color() const { return color_; }  // live, and NO_COLOR is not set
  size_t columns() const;                // now; 80 where unknown

  // Writes `text`, which ends in '\n', above the status line.
  void write(std::string_view text) noexcept;
  // ASCII; cut to the width. Does nothing where the terminal is not live. "" removes the line.
  void set_status(std::string line) noexcept;

 private:
  std::string erase_sequence() const;
  void send(std::string_view bytes) const noexcept;

  const int fd_;
  const bool live_;
  const bool color_;
  std::mutex mutex_;
  std::string status_;  // as drawn
};

}  // namespace encode
