// Hand-written scanners for the split patterns of real tokenizers. A scanner finds exactly the
// matches of its pattern. It reads the text once, in linear time, without a regular expression
// engine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/split/text_pattern.h"

namespace encode {

// Appends the pieces of `text`. Their offsets count from `base`. `text` is valid UTF-8, and `base`
// + text.size() is less than 4 GiB. Any thread may call a scanner, and it throws no Error.
using SplitScanner = void (*)(std::string_view text, uint32_t base, std::vector<Piece>& pieces);

// Finds the matches of GPT-2's pattern:
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void scan_gpt2(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
// Does what BertPreTokenizer does: removes white space, and makes each punctuation character a
// piece of its own.
void scan_bert(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
// Does what the pre-tokenizer Whitespace does: finds the matches of \w+|[^\w\s]+
void scan_whitespace(std::string_view text, uint32_t base, std::vector<Piece>& pieces);

// The pattern of Qwen2 (models/qwen2/tokenization_qwen2.py in transformers).
inline constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Returns the scanner of a pattern, or null if the pattern has no scanner. `regex` is the pattern
// as a tokenizer.json spells it. These patterns have scanners, and their matches cover every text:
// - GPT-2,
// - cl100k (Llama 3, with up to three digits in a piece),
// - Qwen2 (cl100k with one digit in a piece),
// - o200k,
// - Mistral's Tekken (o200k without contractions, with one digit in a piece).
SplitScanner find_split_scanner(std::string_view regex);

}  // namespace encode
