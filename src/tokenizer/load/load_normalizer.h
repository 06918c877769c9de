// Builds the normalizer from the field "normalizer" of a tokenizer.json.
#pragma once

#include <memory>

#include "tokenizer/load/component.h"
#include "tokenizer/normalize/normalizer.h"

namespace encode {

// Throws Error (kConfig) for a type or an option that is not supported. The code is
// "tokenizer.unsupported", or "tokenizer.format" if the JSON is malformed.
std::unique_ptr<Normalizer> load_normalizer(const Component& component);

}  // namespace encode
