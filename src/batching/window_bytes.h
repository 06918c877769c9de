// The bytes of a token as text and in memory. The plan of the memory and the worker, which keeps to
// this plan, count with the same numbers.
#pragma once

#include <cstdint>

namespace encode {

// The text of a token: usual text has about four bytes of UTF-8 for each token.
inline constexpr int64_t kTokenTextBytes = 4;
// A token in memory: its id in the window, and its id and position in a batch.
inline constexpr int64_t kWindowTokenBytes = 12;

}  // namespace encode
