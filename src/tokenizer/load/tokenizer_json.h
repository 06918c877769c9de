// Loads Hugging Face's tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "encode/tokenizer.h"

#include "tokenizer/pipeline.h"

namespace encode {

// `text` is the content of the file, and `where` is its name for messages. Throws Error (kConfig)
// if the file is malformed or uses something that is not supported. The code is
// "tokenizer.unsupported", or "tokenizer.format" if the JSON is malformed. `side` overrides the
// "direction" of the file's truncation.
std::unique_ptr<Tokenizer> load_tokenizer_json(std::string text, const std::string& where,
                                               std::optional<TruncationSide> side);

}  // namespace encode
