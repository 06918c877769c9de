// Errors of files that hold a tokenizer, and the limits of such files.
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
// The bytes of all tokens of a vocabulary: a million tokens of ten bytes have a third of them. The
// memory of a model grows with this sum (a trie takes 12 bytes for each byte), so the sum is
// bounded, and not each token.
inline constexpr size_t kMaxVocabularyBytes = size_t{32} << 20;
// The longest token of a kind that is looked for from every character of a text on: Unigram's,
// added tokens, and those of .model files. The time for a text grows with this length, and the
// sentencepiece library builds its trie with a recursion as deep as its longest piece.
inline constexpr size_t kMaxSearchedTokenBytes = 4096;
// The bound of WordPiece's max_input_chars_per_word.
inline constexpr int64_t kMaxWordChars = 1024;

[[noreturn]] void refuse_format(std::string what, const std::string& where, std::string expected,
                                std::string found);
// "normalizer type 'Foo' is not supported"
[[noreturn]] void refuse_unsupported(std::string what, const std::string& where,
                                     std::string hint = {});
// A token in quotes for a message: escaped, and cut where it is long, with its size then.
std::string quoted_token(std::string_view token);

}  // namespace encode
