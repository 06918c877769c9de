// Loads any bytes as a tokenizer.json. The result must be an Error or a tokenizer that can encode
// a text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "tokenizer/load/tokenizer_document.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto tokenizer = encode::build_tokenizer(encode::read_tokenizer_json(
        std::string(reinterpret_cast<const char*>(data), size), "tokenizer.json"));
    encode::TokenizedRows rows;
    tokenizer->encode("Hello, w\xC3\xB6rld! 123  \xE4\xBD\xA0\xE5\xA5\xBD\n", {.max_length = 16},
                      rows);
    for (const int32_t id : rows.ids) {
      if (id < 0 || id >= tokenizer->vocab_size()) __builtin_trap();
    }
  } catch (const encode::Error&) {
    // The tokenizer refuses the input.
  }
  return 0;
}
