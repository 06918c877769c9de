// Byte pair encoding: the symbols of a word are merged pair by pair, lowest rank first, leftmost
// among equals.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct BpeMerge {
  int32_t left, right;  // ids
  int32_t merged;
};

struct BpeOptions {
  bool byte_level = false;  // pieces are raw bytes, the vocabulary is spelled in GPT-2's alphabet
  int32_t unk_id = -1;      // -1: what has no token is left out
  bool fuse_unk = false;
  bool byte_fallback =
      false;  // characters without a token become <0xNN> tokens, where the vocabulary has these
  bool ignore_merges = false;  // a piece that is a token is that token, whatever the merges say
  std::vector<uint32_t> merge_ranks;  // of each merge; empty: their order
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
};

// The ids of the tokens <0x00> to <0xFF>, -1 where there is none; returns how many there are.
size_t find_byte_tokens(const Vocabulary& vocabulary, std::array<int32_t, 256>& ids);

// `merges` in order of rank, or with `merge_ranks`; where a pair is there twice the later one
// counts, as in Hugging Face `tokenizers`.
std::unique_ptr<Model> make_bpe(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                                BpeOptions options);

}  // namespace encode
