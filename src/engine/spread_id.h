// Token ids for batches that check the engine and not a text.
#pragma once

#include <cstdint>

namespace encode {

// Returns id number n of a sequence that spreads over a vocabulary of `vocab_size` ids. The ids are
// the multiples of a prime, modulo vocab_size.
constexpr int32_t spread_id(int64_t n, int64_t vocab_size) {
  constexpr int64_t kStride = 7919;
  return static_cast<int32_t>(n * kStride % vocab_size);
}

}  // namespace encode
