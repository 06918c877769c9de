// The file that a tokenizer is loaded from, and the version of the library that reads it. The CMake
// target `encode_tokenizer_file` has these functions without the tokenizer itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace encode {

// The files that load_tokenizer_from_directory() can load, in the order of preference. All but
// tokenizer.json are sentencepiece models. The fingerprint contains each of them that exists.
inline constexpr std::array<const char*, 5> kTokenizerFiles = {
    "tokenizer.json", "tokenizer.model", "sentencepiece.bpe.model", "spiece.model", "spm.model"};

// The content of the files that a tokenizer is loaded from.
struct TokenizerSource {
  std::string folder;   // the directory, for messages
  std::string path;     // of the file, for messages; its suffix says which kind it is; "": no file
  std::string content;  // of the file
  std::string config_path;            // of tokenizer_config.json, for messages
  std::optional<std::string> config;  // its content; nullopt if it does not apply
};

// The file beside a tokenizer that says on which side a row is truncated and, for a sentencepiece
// model, which special tokens are added.
inline constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";

// The files beside a tokenizer that can change its ids or that other programs read with it. The
// fingerprint contains each of them that exists.
inline constexpr std::array<const char*, 6> kFilesBesideTokenizer = {
    kTokenizerConfigFile, "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json",
    "merges.txt"};

// The most bytes of a tokenizer file.
inline constexpr int64_t kMaxTokenizerBytes = int64_t{64} << 20;

// The path of the first of kTokenizerFiles that `model_dir` has; "" if it has none of them. Throws
// Error "tokenizer.file" if the file system does not say whether a file exists.
std::string find_tokenizer_file(const std::string& model_dir);

// Returns true if a file of this name is loaded as a sentencepiece model. The token ids of a
// sentencepiece model may depend on sentencepiece_version(); the ids of a tokenizer.json do not.
bool is_sentencepiece_file(const std::string& file);

// Returns the version of the sentencepiece library that the programs were built with, as pkg-config
// states it: "0.1.97". The library offers no version at run time. Versions 0.1.97 to 0.2.1 give
// equal ids. Version 0.2.3 chooses differently if two ways to split a text with a Unigram model
// score equally.
std::string sentencepiece_version();

}  // namespace encode
