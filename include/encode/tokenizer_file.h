// What a tokenizer is made from: the names and contents of its files, and the version of the
// library that reads a sentencepiece model. Any thread may call these functions. The CMake target
// `encode_tokenizer_file` has these functions without the tokenizer itself, so that `encode` can
// check a directory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "encode/types.h"

namespace encode {

inline constexpr const char* kTokenizerJsonFile = "tokenizer.json";

// The files that load_tokenizer_from_directory() can load. A directory has a tokenizer if it has
// one of them. tokenizer.json comes first. Without it, the class of the tokenizer decides which of
// the others is loaded. The fingerprint contains each of them that exists.
inline constexpr std::array<const char*, 8> kTokenizerFiles = {
    kTokenizerJsonFile, "tokenizer.model", "sentencepiece.bpe.model",
    "spiece.model",     "spm.model",       "sentencepiece.model",
    "vocab.txt",        "vocab.json"};

// What encode does in place of the Python code that a repository has for its tokenizer.
// - kAppendEos: eos_token of tokenizer_config.json comes after every text if add_eos_token is
//   true. The post-processor of tokenizer.json does not count.
enum class TokenizerRecipe { kNone, kAppendEos };

// How a tokenizer is built from its files. Everything here changes token ids.
struct TokenizerRules {
  SpecialTokensRule special_tokens = SpecialTokensRule::kByClass;
  TokenizerRecipe recipe = TokenizerRecipe::kNone;
  // do_lower_case of sentence_bert_config.json. True: a text is lowercased before the normalizer
  // runs, unless the normalizer has a Lowercase of its own.
  bool lower_case_first = false;

  bool operator==(const TokenizerRules&) const = default;
};

// The file beside a tokenizer that states its class, its special tokens, and on which side a row is
// truncated.
inline constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";

// The files beside a tokenizer that can change its ids or that other programs read with it. The
// fingerprint contains each of them that exists.
inline constexpr std::array<const char*, 4> kFilesBesideTokenizer = {
    kTokenizerConfigFile, "special_tokens_map.json", "added_tokens.json", "merges.txt"};

// The most bytes of a tokenizer file.
inline constexpr int64_t kMaxTokenizerBytes = int64_t{64} << 20;

// The content of everything that a tokenizer is made from.
struct TokenizerSource {
  std::string folder;  // the directory, for messages
  // Name -> content, for each file of kTokenizerFiles and kFilesBesideTokenizer that applies.
  std::map<std::string, std::string> files;
  // "model_type" and "tokenizer_class" of config.json; "" if it does not have them or there is no
  // config.json. They decide the class of the tokenizer if tokenizer_config.json does not state it.
  std::string model_type;
  std::string tokenizer_class;
  TokenizerRules rules;

  // Returns the content of a file, or null if the source does not have it.
  const std::string* find(const std::string& name) const;
  std::string path_of(const std::string& name) const { return folder + "/" + name; }
};

// Makes a source from the files of a directory. `read` returns the content of the file with a name,
// or nullopt if the directory does not have it. Throws what `read` throws, and Error kConfig
// "tokenizer.format" if config.json is malformed.
TokenizerSource make_tokenizer_source(
    const std::string& folder,
    const std::function<std::optional<std::string>(const std::string& name)>& read);

// Throws Error kConfig "tokenizer.format" if `content` is the pointer that Git LFS leaves in the
// place of a large file. `where` is the name of the file for messages.
void refuse_lfs_pointer(const std::string& content, const std::string& where);

// Returns the name of the first of kTokenizerFiles that the source has; "" if it has none of them.
std::string tokenizer_file_of(const TokenizerSource& source);

// Returns true if a file of this name is loaded as a sentencepiece model. The token ids of a
// sentencepiece model may depend on sentencepiece_version(); the ids of a tokenizer.json do not.
bool is_sentencepiece_file(const std::string& file);

// Returns the version of the sentencepiece library that the programs were built with, as pkg-config
// states it: "0.1.97". The library offers no version at run time. Versions 0.1.97 to 0.2.1 give
// equal ids. Version 0.2.3 chooses differently if two ways to split a text with a Unigram model
// score equally.
std::string sentencepiece_version();

}  // namespace encode
