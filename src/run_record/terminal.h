// Writes whole lines to a terminal, and below them one status line that is redrawn in place. Any
// thread may call it. Throws no Error.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace encode {

// Thread-safe. Ignores failed writes, because a terminal that was closed must not end a run.
class Terminal {
 public:
  // `fd` may be any descriptor, for example a pipe, or -1 to write nothing. The caller keeps it
  // open.
  explicit Terminal(int fd);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  bool live() const { return live_; }    // whether `fd` is a TTY that can redraw a line
  bool color() const { return color_; }  // live() and NO_COLOR is not set
  size_t columns() const;                // the current width; 80 if it is unknown
  // The columns for text: all but the last one, because some terminals wrap after a character
  // there. 0 if the terminal is not live, for example for a file or a pipe.
  size_t text_columns() const { return live_ ? columns() - 1 : 0; }

  // Returns `text` as wrap_text() breaks it for the current width. Returns it unchanged if the
  // terminal is not live, for example for a file or a pipe.
  std::string wrapped(std::string text, size_t indent) const;
  // Writes `text`, which ends in '\n', above the status line.
  void write(std::string_view text) noexcept;
  // Replaces the status line with `line`, which must be ASCII and is cut to the width. "" removes
  // the status line. Does nothing if the terminal is not live.
  void set_status(std::string line) noexcept;

 private:
  std::string erase_sequence() const;
  void send(std::string_view bytes) const noexcept;

  const int fd_;
  const bool live_;
  const bool color_;
  std::mutex mutex_;
  std::string status_;  // the line on the screen
};

}  // namespace encode
