// Reads the field "post_processor" of a tokenizer.json.
#pragma once

#include "tokenizer/load/component.h"
#include "tokenizer/pipeline.h"

namespace encode {

// Returns the special tokens that are put around a single text, and how its offsets are trimmed.
// Throws Error (kConfig) for a type or an option that is not supported.
SpecialTokens load_post_processor(const Component& component);

}  // namespace encode
