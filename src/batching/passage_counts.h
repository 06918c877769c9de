// How many passages texts have, as plans estimate it before the texts are cut. Any thread may call
// the functions. They throw no Error.
#pragma once

#include <algorithm>
#include <cstdint>

#include "encode/types.h"

#include "batching/window_bytes.h"

namespace encode {

// Returns the bytes of text that a passage has and the passage before it does not have. A passage
// that ends with a sentence is about three quarters full.
inline int64_t new_text_bytes(const PassageRule& rule) {
  return std::max<int64_t>(1, (rule.max_tokens - rule.overlap) * 3 / 4 * kTokenTextBytes);
}

// Returns the number of passages of `rows` texts with `text_bytes` in all.
inline int64_t estimated_passages(const PassageRule& rule, int64_t rows, int64_t text_bytes) {
  return rows + text_bytes / new_text_bytes(rule);
}

// Returns the number of windows (tokenizer/late_windows.h) of `rows` texts with `text_bytes` in
// all.
inline int64_t estimated_windows(const PassageRule& rule, int64_t window_tokens, int64_t rows,
                                 int64_t text_bytes) {
  const int64_t new_tokens = std::max<int64_t>(1, window_tokens - rule.max_tokens);
  return rows + text_bytes / (new_tokens * kTokenTextBytes);
}

// Returns the rule that cuts texts of which each passage has `frame` bytes around it.
inline PassageRule rule_inside(PassageRule rule, int64_t frame) {
  rule.max_tokens = std::max(rule.overlap + 1, rule.max_tokens - frame / kTokenTextBytes);
  return rule;
}

// Returns the bytes of a text of `bytes` bytes without a frame that has as many tokens and passages
// as a text of `bytes` bytes of which `frame` bytes are around each of its passages.
inline int64_t framed_bytes(const PassageRule& rule, int64_t bytes, int64_t frame) {
  const PassageRule inside = rule_inside(rule, frame);
  const int64_t passages = estimated_passages(inside, 1, bytes - frame);
  return std::max(bytes + (passages - 1) * frame, passages * new_text_bytes(rule));
}

// Returns the bytes of text whose token ids take the memory of the ids of `bytes` without the
// tokens that passages repeat.
inline int64_t bytes_without_overlap(const PassageRule& rule, int64_t bytes) {
  const double part = 1 - static_cast<double>(rule.overlap) /
                              static_cast<double>(std::max<int64_t>(1, rule.max_tokens));
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(bytes) * part));
}

}  // namespace encode
