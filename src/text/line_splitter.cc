#include "text/line_splitter.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

namespace encode {

LineSplitter::LineSplitter(ByteWindow& window, int64_t hold_bytes, std::string path)
    : window_(window), hold_bytes_(static_cast<size_t>(hold_bytes)), path_(std::move(path)) {}

bool LineSplitter::next(RawRecord& line) {
  window_.consume(std::exchange(unread_bytes_, 0));
  line = {.bytes = {}, .number = next_number_, .offset_bytes = window_.offset(), .too_long = false};
  size_t scanned = 0;
  for (;;) {
    const std::string_view view = window_.view();
    const size_t newline = view.find('\n', scanned);
    if (newline != std::string_view::npos) {
      finish(line, newline, 1);
      return true;
    }
    scanned = view.size();
    // The view may have one byte more than the limit, because this byte may be the CR of the line
    // end.
    if (scanned > hold_bytes_ + 1) {
      skip_to_line_end(line);
      return true;
    }
    if (!window_.extend()) {
      if (scanned == 0) return false;
      finish(line, scanned, 0);
      return true;
    }
  }
}

void LineSplitter::finish(RawRecord& line, size_t size, size_t line_end_bytes) {
  check_limit(line, static_cast<int64_t>(size));
  unread_bytes_ = size + line_end_bytes;
  ++next_number_;
  line.bytes = window_.view().substr(0, size);
  if (line_end_bytes > 0 && line.bytes.ends_with('\r')) line.bytes.remove_suffix(1);
  line.too_long = line.bytes.size() > hold_bytes_;
  if (line.too_long) line.bytes = {};
}

void LineSplitter::skip_to_line_end(RawRecord& line) {
  line.too_long = true;
  ++next_number_;
  int64_t size = 0;
  do {
    const std::string_view view = window_.view();
    const size_t newline = view.find('\n');
    const bool found = newline != std::string_view::npos;
    size += static_cast<int64_t>(found ? newline : view.size());
    check_limit(line, size);
    window_.consume(found ? newline + 1 : view.size());
    if (found) return;
  } while (window_.extend());
}

void LineSplitter::check_limit(const RawRecord& line, int64_t size) const {
  if (size <= kMaxRecordBytes) return;
  throw Error({.code = "text.record_limit",
               .what = "a line is longer than a record may be",
               .where = fmt::format("{}:{}", path_, line.number),
               .expected = fmt::format("at most {} bytes", kMaxRecordBytes),
               .found = "more bytes before a line end",
               .hint = "check that this is a text file with line ends"});
}

bool LineSplitter::only_blank_left() {
  window_.consume(std::exchange(unread_bytes_, 0));
  if (window_.offset() < not_blank_to_) return false;
  for (size_t scanned = 0; scanned <= kMaxBlankTailBytes;) {
    const std::string_view view = window_.view();
    const size_t text = view.find_first_not_of(" \t\r\n", scanned);
    if (text != std::string_view::npos) {
      not_blank_to_ = window_.offset() + static_cast<int64_t>(text);
      return false;
    }
    scanned = view.size();
    if (!window_.extend()) return true;
  }
  not_blank_to_ = window_.offset() + static_cast<int64_t>(kMaxBlankTailBytes);
  return false;
}

void LineSplitter::seek(int64_t offset_bytes, int64_t line_number) {
  window_.consume(std::exchange(unread_bytes_, 0));
  window_.seek(offset_bytes);
  not_blank_to_ = 0;
  next_number_ = line_number;
}

}  // namespace encode
