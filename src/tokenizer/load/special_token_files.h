// What the files beside tokenizer.json state about special and added tokens: tokenizer_config.json,
// special_tokens_map.json and added_tokens.json, merged as from_pretrained() of transformers does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/tokenizer_file.h"

#include "base/json.h"
#include "tokenizer/added_tokens.h"

namespace encode {

// A token that a file states: its text alone, or with flags.
struct StatedToken {
  AddedToken token;  // `id` is not set
  bool has_flags = false;
  bool has_normalized = false;  // false: `normalized` is the opposite of `special`
};

// Returns the token of a file that states its text and no flags. Does not throw Error.
StatedToken text_token(std::string_view content);

// Returns the tokens <extra_id_0>, <extra_id_1>, .. that the class of T5 adds: `count` tokens, or
// none if `stated`, the value of "additional_special_tokens", has such tokens. Throws Error kConfig
// "tokenizer.format" if `stated` has another number of them. `where` names the file.
std::vector<StatedToken> extra_id_tokens(const std::vector<StatedToken>& stated, int64_t count,
                                         const std::string& where);

// The special tokens in the order in which transformers adds them.
inline constexpr const char* kSpecialTokenKeys[] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

struct StatedTokens {
  // By key, one of kSpecialTokenKeys. nullopt stands for null: the tokenizer has no such token.
  std::map<std::string, std::optional<StatedToken>> named;
  // "additional_special_tokens"; nullopt if it is absent. null stands for an empty list.
  std::optional<std::vector<StatedToken>> additional;
  // "extra_special_tokens" in the order of the file. A list of them, which transformers 5 writes,
  // is part of `additional`.
  std::vector<StatedToken> extra;
  // The added tokens by the id that is stated for them.
  std::map<int32_t, AddedToken> added;
};

// `config` is the content of tokenizer_config.json, an empty object if there is none, and `added`
// the added tokens of the document. `as_version_5` as in ClassRules. Throws Error kConfig
// "tokenizer.format" if a file is malformed or has a value that transformers does not accept.
StatedTokens read_stated_tokens(const TokenizerSource& source, const Json& config,
                                const std::vector<AddedToken>& added, bool as_version_5 = false);

}  // namespace encode
