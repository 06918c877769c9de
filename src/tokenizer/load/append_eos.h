// Does what tokenization_qwen.py of gte-Qwen2 does (TokenizerRecipe::kAppendEos).
#pragma once

#include "encode/tokenizer_file.h"

#include "tokenizer/load/tokenizer_document.h"

namespace encode {

// Replaces the post-processor of the document by one that puts eos_token after a text, or by none.
// tokenizer_config.json decides: add_eos_token (default false, as in that code) and eos_token
// (default "<|endoftext|>"). If it does not state add_eos_token, and the post-processor adds tokens
// of its own, the two contradict each other, unless transformers 5 has saved the tokenizer: it
// writes the special tokens only into tokenizer.json. Throws Error kConfig
// "tokenizer.special_tokens" for the contradiction, and "tokenizer.format" if a field is malformed
// or the token has no id.
void append_eos(TokenizerDocument& document, const TokenizerSource& source);

}  // namespace encode
