// Loads sentencepiece .model files. The sentencepiece library tokenizes with them, except for the
// models that sentencepiece_bpe.h supports.
#pragma once

#include <memory>
#include <string>

#include "encode/tokenizer.h"

namespace encode {

// The special tokens that tokenizer_config.json asks for. Without this file, none are added.
struct SentencePieceOptions {
  bool add_bos = false;
  bool add_eos = false;
};

// Throws Error: kNoInput if the file is missing, kConfig "tokenizer.format" if it is malformed.
SentencePieceOptions read_sentencepiece_options(const std::string& tokenizer_config_file);

// `model` is the content of the file, and `where` is its name for messages. Throws Error (kConfig).
// The code is "tokenizer.format". The tokenizer keeps no reference to `model`.
std::unique_ptr<Tokenizer> load_sentencepiece(const std::string& model, const std::string& where,
                                              const SentencePieceOptions& options);

}  // namespace encode
