// Loads sentencepiece .model files. The sentencepiece library tokenizes with them.
#pragma once

#include <memory>
#include <string>

#include "encode/tokenizer.h"

namespace encode {

// `model` is the content of the file, and `where` is its name for messages. No special
// tokens are added. Throws Error (kConfig). The code is "tokenizer.format". The tokenizer keeps no
// reference to `model`.
std::unique_ptr<Tokenizer> load_sentencepiece(const std::string& model, const std::string& where);

}  // namespace encode
