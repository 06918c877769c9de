// How many tokens a passage may have beside what stands around it. Any number of threads may call
// the functions.
#pragma once

#include <cstdint>
#include <string>

#include "encode/text.h"

#include "tokenizer/passages.h"

namespace encode {

// Returns the tokens of a passage without the prompt and the special tokens. Throws what the
// constructor of PassageCutter throws.
int64_t passage_room(const PassageSettings& settings, const std::string& where);

// Returns the tokens of a passage of this text. Throws what PassageCutter::cut() throws.
int64_t passage_room(const PassageSettings& settings, const FramedText& text);

}  // namespace encode
