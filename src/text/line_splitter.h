// Cuts bytes into lines. LF and CRLF end a line; a lone CR is text. The last line needs no line
// end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/byte_window.h"

namespace encode {

struct Line {
  std::string_view bytes;  // without its line end, ByteWindow::kPaddingBytes readable after it;
                           // empty if too_long
  int64_t number = 0;      // 1-based
  int64_t offset_bytes = 0;
  bool too_long = false;
};

class LineSplitter {
 public:
  // Lines over `hold_bytes` are skipped without being held. `path` is for messages.
  LineSplitter(ByteWindow& window, int64_t hold_bytes, std::string path);

  bool next(Line& line);
  bool at_end();  // no line follows; ends the life of the last line's bytes
  void seek(int64_t offset_bytes, int64_t line_number);

 private:
  void finish(Line& line, size_t size, size_t line_end_bytes);
  void skip_to_line_end(Line& line);
  void check_limit(const Line& line, int64_t size) const;

  ByteWindow& window_;
  size_t hold_bytes_;
  std::string path_;
  int64_t next_number_ = 1;
  size_t unread_bytes_ = 0;  // of the last line, still in the window
};

}  // namespace encode
