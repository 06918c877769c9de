// The part of an input that a parser looks at: unread bytes, extended block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/byte_source.h"

namespace encode {

class ByteWindow {
 public:
  // Bytes after the view that may be read (their content means nothing), as simdjson demands.
  static constexpr size_t kPaddingBytes = 64;

  ByteWindow(std::unique_ptr<ByteSource> source, size_t block_bytes);

  // Unread bytes at hand. Valid until extend() or seek().
  std::string_view view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Marks the first `size` bytes of the view as read.
  void consume(size_t size) {
    begin_ += size;
    offset_ += static_cast<int64_t>(size);
  }
  // Adds up to a block to the view; false at the end of the input. Grows the buffer only where
  // unread bytes fill it.
  bool extend();
  bool at_end() { return begin_ == end_ && !extend(); }

  int64_t offset() const { return offset_; }  // of the view's first byte in the decompressed input
  void seek(int64_t offset);

 private:
  std::unique_ptr<ByteSource> source_;
  size_t block_bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t offset_ = 0;
};

}  // namespace encode
