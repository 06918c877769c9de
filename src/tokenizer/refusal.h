// The errors for tokenizer files, and the limits of these files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace encode {

inline constexpr std::string_view kTokenizerFormat = "tokenizer.format";  // error codes
inline constexpr std::string_view kTokenizerUnsupported = "tokenizer.unsupported";
inline constexpr size_t kMaxPatternBytes = 8192;
inline constexpr int64_t kMaxTokens = 4'000'000;
// The limit for the sum of the bytes of all tokens of a vocabulary. A million tokens of ten bytes
// take a third of it. The memory of a model grows with this sum (a trie takes 12 bytes for each
// byte), so the sum has a limit, and not the size of each token.
inline constexpr size_t kMaxVocabularyBytes = size_t{32} << 20;
// The limit for the bytes of one token of a Unigram model, of an added token, and of a piece of a
// .model file. Each character of a text starts a search for these tokens, so the time for a text
// grows with the longest of them. The sentencepiece library also builds its trie with a recursion
// that is as deep as its longest piece.
inline constexpr size_t kMaxSearchedTokenBytes = 4096;
// The limit for WordPiece's max_input_chars_per_word.
inline constexpr int64_t kMaxWordChars = 1024;

// Throws Error (kConfig) with the code kTokenizerFormat: the file is malformed.
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

// Returns the token in quotes for a message. Bytes that are not printable ASCII are escaped. Of a
// long token, only the beginning and the size are shown.
std::string quoted_token(std::string_view token);

}  // namespace encode
