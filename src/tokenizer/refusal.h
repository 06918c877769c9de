// The errors for files that hold a tokenizer, and the limits of such files.
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
// The limit for the bytes of all tokens of a vocabulary together. A million tokens of ten bytes
// have a third of it. The memory of a model grows with this sum (a trie takes 12 bytes for each
// byte), so the sum is bounded, and not each token.
inline constexpr size_t kMaxVocabularyBytes = size_t{32} << 20;
// The limit for one token if a text is searched for it from each of its characters on: tokens of a
// Unigram model, added tokens, and pieces of a .model file. The time for a text grows with the
// longest of them, and the sentencepiece library builds its trie with a recursion that is as deep
// as its longest piece.
inline constexpr size_t kMaxSearchedTokenBytes = 4096;
// The limit for WordPiece's max_input_chars_per_word.
inline constexpr int64_t kMaxWordChars = 1024;

[[noreturn]] void refuse_format(std::string what, const std::string& where, std::string expected,
                                std::string found);
// `what` is a sentence, as "normalizer type 'Foo' is not supported".
[[noreturn]] void refuse_unsupported(std::string what, const std::string& where,
                                     std::string hint = {});
// Returns the token in quotes for a message. Bytes that are not printable ASCII are escaped, and a
// long token is cut and its size is stated.
std::string quoted_token(std::string_view token);

}  // namespace encode
