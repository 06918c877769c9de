// The bytes of a pickle, from the first opcode to the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "encode/error.h"

namespace encode {

// One thread at a time may use an object. All errors are kConfig "model.pickle".
class PickleBytes {
 public:
  // Both must outlive the object. `where` is for messages.
  PickleBytes(std::string_view pickle, const std::string& where) : pickle_(pickle), where_(where) {}

  // Takes the next opcode and returns it. unexpected() then names the place of this opcode.
  uint8_t next_opcode();

  // These functions take the bytes that follow. They throw if fewer are left.
  std::string_view take(uint64_t bytes);
  std::string_view line();  // up to and including a line feed, which is not returned
  // Takes a length of one byte, and a number of up to eight bytes in two's complement.
  int64_t long_integer();
  template <typename Number>
  Number number() {
    Number value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  size_t position() const { return next_; }
  size_t left() const { return pickle_.size() - next_; }
  // Returns bytes that were taken before.
  std::string_view taken(int64_t begin, size_t bytes) const {
    return pickle_.substr(static_cast<size_t>(begin), bytes);
  }

  // Makes the Error for a part of the pickle that no state dict has.
  Error unexpected(const std::string& found) const;

 private:
  std::string_view pickle_;
  const std::string& where_;
  size_t next_ = 0;
  size_t opcode_at_ = 0;
};

}  // namespace encode
