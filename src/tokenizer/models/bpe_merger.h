// The second part of BPE: merges the symbols of a word. Symbols are the ids that the first part has
// split the word into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/large_table.h"

namespace encode {

// A hash table with open addressing that maps a pair of ids to the rank and the result of its
// merge. Immutable. Any number of threads may use it.
class PairTable {
 public:
  struct Merge {
    uint32_t rank = kNone;
    int32_t merged = -1;
  };
  static constexpr uint32_t kNone = UINT32_MAX;  // the rank of a pair without a merge

  // The rank of a merge is its index.
  explicit PairTable(const std::vector<BpeMerge>& merges);

  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = make_key(left, right);
    for (const Slot* slot = slots_.data() + (hash(key) >> shift_);; ++slot) {
      if (slot->key == key) return slot->merge;
      if (slot->key == kFree) return {};
    }
  }

 private:
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };
  static constexpr uint64_t kFree = UINT64_MAX;

  static uint64_t make_key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static uint64_t hash(uint64_t key) {
    key ^= key >> 29;
    return key * 0x9E3779B97F4A7C15U;
  }

  // The array has more slots than there are hash values, so that a search that begins at the last
  // hash value needs no wrap-around.
  LargeTable<Slot> slots_;
  int shift_ = 0;
};

// Merges words. A word of n symbols takes time O(n) with the merges of real vocabularies, and at
// most O(n log n). Not thread-safe: each thread needs a merger of its own.
class BpeMerger {
 public:
  // `pairs` must outlive the merger.
  explicit BpeMerger(const PairTable& pairs) : pairs_(pairs) {}

  // Writes the ids that `symbols` are merged into to `out`, and returns their end. `out` must not
  // overlap `symbols`. `out` has room for symbols.size() ids.
  int32_t* merge(std::span<const int32_t> symbols, int32_t* out);

  struct Token {
    int32_t id;
    uint32_t begin;  // the index of the token's first symbol
  };
  // Returns the ids that merge() writes, and the begin of each. The result is valid until the next
  // call of merge() or merge_ranged().
  std::span<const Token> merge_ranged(std::span<const int32_t> symbols);
  void shrink(size_t max_bytes);

 private:
  struct Node {
    int32_t id;  // -1: the symbol is merged into the symbol before it
    uint32_t previous, next;
    uint32_t rank;  // the rank of the pair of this symbol and the next one
    int32_t merged;
  };
  struct Candidate {
    uint32_t rank, position;
  };

  std::span<const Token> merge_whole(std::span<const int32_t> symbols);
  int32_t* merge_short(std::span<const int32_t> symbols, int32_t* out);
  // Appends the tokens of `symbols` to `tokens`. Adds `base` to the begin of each token.
  void merge_window(std::span<const int32_t> symbols, uint32_t base, std::vector<Token>& tokens);
  void next_window(std::span<const int32_t> symbols, uint32_t begin, size_t size);
  void merge_at(uint32_t position);
  void rank_pair(uint32_t position);
  void push(Candidate candidate);
  Candidate pop();
  // Returns true if BPE gives the tokens `left` and `right` for the symbols of both tokens
  // together.
  bool joins(std::span<const int32_t> symbols, const Token& left, const Token& right,
             uint32_t right_end);

  const PairTable& pairs_;
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
  std::vector<Token> tokens_;
  std::vector<Token> window_;  // the tokens of the last window, which has window_size_ symbols
  size_t window_size_ = 0;
  std::vector<Token> joined_;
  // The last two tokens for which joins() was true: the symbols of both tokens, and the number of
  // symbols of the left token. joins() compares with them first.
  std::vector<int32_t> joined_symbols_;
  uint32_t joined_border_ = 0;
};

}  // namespace encode
