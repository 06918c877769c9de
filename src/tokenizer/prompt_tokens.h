// How many tokens a prompt takes, and whether it leaves room for a text. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <string>

#include "encode/tokenizer.h"

namespace encode {

// Returns the number of tokens at the start of a row that belong to the prompt, as
// sentence-transformers counts them: the prompt is tokenized alone with its special tokens, and one
// token is subtracted if the last token is special. Returns 0 for an empty prompt. Throws what
// Tokenizer::encode() throws.
int32_t prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt);

// Throws Error kConfig "model.max_length" if no token of a text is left after the prompt when a row
// is cut to options.max_length, so that all rows would be equal. `where` names the model. Also
// throws what Tokenizer::encode() throws.
void require_room_after_prompt(const Tokenizer& tokenizer, const std::string& prompt,
                               const TokenizeOptions& options, const std::string& where);

}  // namespace encode
