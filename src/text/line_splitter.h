// Cuts bytes into lines. LF and CRLF end a line, and a lone CR is text. The last line need not have
// a line end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/byte_window.h"
#include "text/record.h"

namespace encode {

// Not thread-safe.
class LineSplitter {
 public:
  static constexpr std::string_view kNoun = "line";

  // A line of more than `hold_bytes` is skipped and not kept in memory. `path` is for messages.
  // `window` must outlive the splitter.
  LineSplitter(ByteWindow& window, int64_t hold_bytes, std::string path);

  // Returns false at the end. The bytes of a line are valid until the next call. Throws Error kData
  // "text.record_limit" for a line over kMaxRecordBytes, and what ByteWindow throws.
  bool next(RawRecord& line);
  // Returns true if only spaces, tabs and line ends follow, at most kMaxBlankTailBytes of them.
  // Makes the bytes of the last line invalid. The bytes that it looks at stay in memory.
  bool only_blank_left();
  static constexpr size_t kMaxBlankTailBytes = size_t{64} << 10;
  // Goes to the start of line `line_number` (from 1), which is at `offset_bytes` in the
  // decompressed input.
  void seek(int64_t offset_bytes, int64_t line_number);

 private:
  void finish(RawRecord& line, size_t size, size_t line_end_bytes);
  void skip_to_line_end(RawRecord& line);
  void check_limit(const RawRecord& line, int64_t size) const;

  ByteWindow& window_;
  size_t hold_bytes_;
  std::string path_;
  int64_t next_number_ = 1;
  size_t unread_bytes_ = 0;   // the size of the last line, which is still in the window
  int64_t not_blank_to_ = 0;  // only_blank_left() is false for all lines before this offset
};

}  // namespace encode
