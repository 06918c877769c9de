// What a fuzzer does with a tokenizer that was made from any bytes.
#pragma once

#include "encode/tokenizer.h"

// Encodes a text, and ends the program if an id is out of range.
inline void encode_text(const encode::Tokenizer& tokenizer) {
  encode::TokenizedRows rows;
  tokenizer.encode("Hello, w\xC3\xB6rld! 123  \xE4\xBD\xA0\xE5\xA5\xBD\n", {.max_length = 16},
                   rows);
  for (const int32_t id : rows.ids) {
    if (id < 0 || id >= tokenizer.vocab_size()) __builtin_trap();
  }
}
