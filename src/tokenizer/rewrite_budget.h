// Limits how much the normalizers and pre-tokenizers of a tokenizer may write for one row. Without
// a limit, a list of Replace normalizers can turn one byte into gigabytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "encode/error_code.h"

namespace encode {

inline constexpr ErrorCode kTokenizerGrowth = "tokenizer.growth";  // an error code

// The longest legitimate result is 26 bytes for each byte of a row: NFKC turns the 3 bytes of
// U+FDFA into 33 bytes, a Metaspace makes these 39, and ByteLevel doubles them. One budget counts
// for one row. Not thread-safe.
class RewriteBudget {
 public:
  static constexpr size_t kSlackBytes = size_t{1} << 20;  // added to each limit
  static constexpr size_t kTextFactor = 32;               // the size of a text after a step
  static constexpr size_t kWorkFactor = 1024;  // the sum of the texts that all steps read and write
  static constexpr size_t kMaxTextBytes = size_t{1} << 31;  // texts are indexed with 32 bits
  static constexpr size_t kStepBytes = 8;  // the work of a step, in addition to its text

  // Begins a row of `bytes` bytes.
  explicit RewriteBudget(size_t bytes = 0) { start(bytes); }
  void start(size_t bytes) {
    row_bytes_ = bytes;
    step_ = {};
    text_limit_ = std::min(kMaxTextBytes, kSlackBytes + kTextFactor * bytes);
    work_left_ = kSlackBytes + kWorkFactor * bytes;
  }

  // Begins a step that reads a text of `bytes` bytes. `step` names it in an error: "tokenizer.json:
  // normalizer.Sequence[3].Replace". The view must be valid until the next call or until the row
  // ends. Throws as check() does.
  void enter(std::string_view step, size_t bytes) {
    step_ = step;
    spend(kStepBytes + bytes);
  }
  // Throws Error kData kTokenizerGrowth if a text of `bytes` bytes is too long. A step that can
  // make a text many times as long calls it after each part that it writes.
  void check(size_t bytes) const {
    if (bytes > std::min(text_limit_, work_left_)) refuse();
  }
  // Ends a step that has written `bytes` bytes. Throws as check() does.
  void spend(size_t bytes) {
    check(bytes);
    work_left_ -= bytes;
  }

 private:
  [[noreturn]] void refuse() const;

  size_t row_bytes_ = 0;
  size_t text_limit_ = 0;
  size_t work_left_ = 0;
  std::string_view step_;
};

}  // namespace encode
