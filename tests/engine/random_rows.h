// Rows of random token ids for the tiny reference models.
#pragma once

#include <cstdint>

#include "encode/tokenizer.h"

namespace encode::testing {

inline constexpr int32_t kTinyVocab = 128;

// Returns `count` rows of 0 to `max_tokens` tokens. They are the same in every call.
TokenizedRows random_rows(int64_t count, int64_t max_tokens = 39);

}  // namespace encode::testing
