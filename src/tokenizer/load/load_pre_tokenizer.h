// Builds the pre-tokenizer from the field "pre_tokenizer" of a tokenizer.json.
#pragma once

#include <memory>

#include "tokenizer/load/component.h"
#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

struct LoadedPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  // True if the last step is ByteLevel without the spelling in GPT-2's alphabet. The model must
  // then be built with `byte_level` = true.
  bool byte_level = false;
};

// `model_takes_bytes` is true if the model can take pieces of raw bytes (load_model.h). Throws
// Error (kConfig) for a type or an option that is not supported. The code is
// "tokenizer.unsupported", or "tokenizer.format" if the JSON is malformed.
LoadedPreTokenizer load_pre_tokenizer(const Component& component, bool model_takes_bytes);

}  // namespace encode
