// The unread bytes of an input that a parser has in memory. The window grows block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/byte_source.h"

namespace encode {

// Not thread-safe.
class ByteWindow {
 public:
  // The number of bytes after the end of view() that may be read. Their content is undefined.
  // simdjson reads beyond the end of its input, so it needs them.
  static constexpr size_t kPaddingBytes = 64;

  // `block_bytes` is at least 1.
  ByteWindow(std::unique_ptr<ByteSource> source, size_t block_bytes);

  // Returns the unread bytes in memory, valid until extend() or seek().
  std::string_view view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Marks the first `size` bytes of the view as read. The view must have them.
  void consume(size_t size) {
    begin_ += size;
    offset_ += static_cast<int64_t>(size);
  }
  // Adds up to a block to the view. Returns false at the end of the input. Allocates memory only if
  // the unread bytes and a block do not fit in the buffer. extend(), at_end() and seek() throw what
  // ByteSource throws.
  bool extend();
  bool at_end() { return begin_ == end_ && !extend(); }

  // Extends the view to `size` bytes if possible, and returns its first `size` bytes. Returns fewer
  // if the input ends or its next bytes are damaged; extend() then reports the damage later.
  std::string_view peek(size_t size);

  // Returns the offset of the view's first byte in the decompressed input.
  int64_t offset() const { return offset_; }
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
