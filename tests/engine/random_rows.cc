#include "random_rows.h"

#include <random>

namespace encode::testing {

TokenizedRows random_rows(int64_t count, int64_t max_tokens) {
  std::mt19937_64 random(11);
  TokenizedRows rows;
  for (int64_t i = 0; i < count; ++i) {
    for (uint64_t n = random() % static_cast<uint64_t>(max_tokens + 1); n > 0; --n) {
      rows.ids.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(kTinyVocab)));
    }
    rows.end_row();
  }
  return rows;
}

}  // namespace encode::testing
