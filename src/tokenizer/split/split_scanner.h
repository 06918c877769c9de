// Hand-written scanners for the split patterns that real tokenizers use: one pass, linear time, no
// regular expression engine. Each gives exactly the matches of its pattern, which together cover
// the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/split/text_pattern.h"

namespace encode {

// Appends the pieces of `text`, offsets counted from `base`.
using SplitScanner = void (*)(std::string_view text, uint32_t base, std::vector<Piece>& pieces);

// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void scan_gpt2(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
// BertPreTokenizer: white space removed, each punctuation character on its own.
void scan_bert(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
// Whitespace: the matches of \w+|[^\w\s]+
void scan_whitespace(std::string_view text, uint32_t base, std::vector<Piece>& pieces);

// The scanner of a pattern as it is spelled in tokenizer.json; null where it has none. Knows GPT-2,
// cl100k (Llama 3: up to three digits a piece), Qwen2 (one digit a piece), o200k, and o200k as
// Mistral's Tekken has it (no contractions, one digit a piece).
SplitScanner find_split_scanner(std::string_view regex);

}  // namespace encode
