// Byte pair encoding: the symbols of a word are merged pair by pair. The pair with the lowest rank
// is merged first. Of pairs with equal ranks, the leftmost is merged first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/models/token_model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct BpeMerge {
  int32_t left, right;  // the ids of the two symbols
  int32_t merged;
};

struct BpeOptions {
  bool byte_level = false;  // takes raw bytes; the vocabulary is spelled in GPT-2's alphabet
  int32_t unk_id = -1;      // -1: characters without a token are left out
  bool fuse_unk = false;    // neighbouring characters without a token become one unknown token
  // Characters without a token become <0xNN> tokens if the vocabulary has them.
  bool byte_fallback = false;
  // A piece that is a token becomes that token, even if the merges give other tokens.
  bool ignore_merges = false;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
};

// Writes the ids of the tokens <0x00> to <0xFF> to `ids`. If only <0x09> is missing, a
// tab stands for it. A byte without a token gets -1. Returns the number of bytes with a token.
size_t find_byte_tokens(const Vocabulary& vocabulary, std::array<int32_t, 256>& ids);

// The rank of a merge is its index in `merges`. If a pair occurs twice, the later merge counts, as
// in Hugging Face `tokenizers`. The ids of `merges` are ids of `vocabulary`. The model keeps no
// reference to the arguments. Does not throw Error.
std::unique_ptr<TokenizerModel> make_bpe(const Vocabulary& vocabulary,
                                         const std::vector<BpeMerge>& merges, BpeOptions options);

}  // namespace encode
