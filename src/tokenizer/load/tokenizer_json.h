// Loads Hugging Face's tokenizer.json.
#pragma once

#include <memory>
#include <string>

#include "encode/tokenizer.h"

namespace encode {

// `where` names the file in messages. Throws Error (kConfig).
std::unique_ptr<Tokenizer> load_tokenizer_json(std::string text, const std::string& where);

}  // namespace encode
