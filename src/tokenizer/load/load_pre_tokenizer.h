// The "pre_tokenizer" of a tokenizer.json.
#pragma once

#include <memory>

#include "tokenizer/load/component.h"
#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

struct LoadedPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  // The pieces are to be spelled in GPT-2's alphabet, and the pre-tokenizer leaves this to the
  // model.
  bool byte_level = false;
};

// `model_takes_bytes`: the model can do without GPT-2's alphabet if ByteLevel is the last step.
// Throws Error (kConfig) for a type or an option that is not supported.
LoadedPreTokenizer load_pre_tokenizer(const Component& component, bool model_takes_bytes);

}  // namespace encode
