// The errors that refuse a tokenizer file, and the limits for such files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "encode/error_code.h"

#include "base/vocabulary_limit.h"

namespace encode {

inline constexpr ErrorCode kTokenizerFormat = "tokenizer.format";  // error codes
inline constexpr ErrorCode kTokenizerUnsupported = "tokenizer.unsupported";
inline constexpr size_t kMaxPatternBytes = 8192;
// The limit for the sum of the sizes of all tokens of a vocabulary. A million tokens of ten bytes
// take a third of it. The sum is limited, because the memory of a model grows with it: a trie needs
// 12 bytes for each byte of a token.
inline constexpr size_t kMaxVocabularyBytes = size_t{32} << 20;
// The limit for the size of a token of a Unigram model, of an added token, and of a piece of a
// .model file. These tokens are searched for at each character of a text, so the time for a text
// grows with the size of the longest token. The sentencepiece library also builds its trie with a
// recursion that is as deep as the longest piece.
inline constexpr size_t kMaxSearchedTokenBytes = 4096;
// The limit for WordPiece's max_input_chars_per_word.
inline constexpr int64_t kMaxWordChars = 1024;

// Throws Error (kConfig) with the code kTokenizerFormat, for a malformed file.
[[noreturn]] void refuse_format(std::string what, const std::string& where, std::string expected,
                                std::string found);

struct Unsupported {
  std::string expected;
  std::string found;
  std::string hint = "choose another model: encode would make other tokens than in training";
};
// Throws Error (kConfig) with the code kTokenizerUnsupported. `what` is a sentence, for example
// "normalizer type 'Foo' is not supported".
[[noreturn]] void refuse_unsupported(std::string what, const std::string& where, Unsupported part);
struct Contradiction {
  std::string what;      // a sentence
  std::string where;     // the directory or the file
  std::string expected;  // what one source states
  std::string found;     // what the other source states
  std::string hint;      // how a user decides
};
// Throws Error (kConfig, "tokenizer.contradiction"), for files that contradict each other.
[[noreturn]] void refuse_contradiction(Contradiction contradiction);
// Returns the token in quotes for a message. Bytes that are not printable ASCII are escaped. A long
// token is cut off, and its size is added.
std::string quoted_token(std::string_view token);

}  // namespace encode
