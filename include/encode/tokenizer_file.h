// Which file a tokenizer is loaded from, and the version of the library that reads it. Light:
// nothing here loads a tokenizer or links what one is made of (CMake target
// `encode_tokenizer_file`).
#pragma once

#include <array>
#include <string>

namespace encode {

// The files that load_tokenizer_from_directory() may load, the preferred one first: tokenizer.json,
// then sentencepiece models. All of them are part of the fingerprint.
inline constexpr std::array<const char*, 5> kTokenizerFiles = {
    "tokenizer.json", "tokenizer.model", "sentencepiece.bpe.model", "spiece.model", "spm.model"};

// The path of the first of kTokenizerFiles that `model_dir` has. Empty if it has none of them.
std::string find_tokenizer_file(const std::string& model_dir);

// True for a file that is loaded as a sentencepiece model, by its name. Its token ids may depend on
// sentencepiece_version(); the ids of a tokenizer.json do not.
bool is_sentencepiece_file(const std::string& file);

// The version of the sentencepiece library that the programs were built with, as pkg-config states
// it: "0.1.97". The library itself offers no version at run time. Versions 0.1.97 to 0.2.1 give
// equal ids; 0.2.3 cuts a text otherwise where two cuts of a Unigram model have equal scores.
std::string sentencepiece_version();

}  // namespace encode
