// Loads any bytes as a tokenizer.json. The result must be an Error or a tokenizer that can encode
// a text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "fuzzed_tokenizer.h"
#include "tokenizer/load/tokenizer_document.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto tokenizer = encode::build_tokenizer(encode::read_tokenizer_json(
        std::string(reinterpret_cast<const char*>(data), size), "tokenizer.json"));
    encode_text(*tokenizer);
  } catch (const encode::Error&) {
    // The tokenizer refuses the input.
  }
  return 0;
}
