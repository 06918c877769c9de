// Reads the field "post_processor" of a tokenizer.json.
#pragma once

#include "tokenizer/load/component.h"
#include "tokenizer/pipeline.h"

namespace encode {

// Returns the special tokens around a single text, and how the offsets of the text are trimmed.
// Throws Error (kConfig) for a type or an option that is not supported. The code is
// "tokenizer.unsupported", or "tokenizer.format" if the JSON is malformed.
SpecialTokens load_post_processor(const Component& component);

}  // namespace encode
