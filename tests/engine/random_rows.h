// Rows of random token ids for the tiny reference models.
#pragma once

#include <cstdint>

#include "encode/tokenizer.h"

namespace encode::testing {

inline constexpr int32_t kTinyVocab = 128;

// `count` rows of 0 to 39 tokens, always the same ones.
TokenizedRows random_rows(int64_t count);

}  // namespace encode::testing
