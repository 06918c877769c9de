// Merges symbols (ids): the part of BPE that comes after a word has been taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/large_table.h"

namespace encode {

// Maps (left, right) to the rank of their merge and the merged id. A table with open addressing.
class PairTable {
 public:
  struct Merge {
    uint32_t rank = kNone;
    int32_t merged = -1;
  };
  static constexpr uint32_t kNone = UINT32_MAX;  // not a rank

  // `ranks` is empty or has one rank for each merge. Merges may share a rank.
  explicit PairTable(const std::vector<BpeMerge>& merges, std::span<const uint32_t> ranks = {});

  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = make_key(left, right);
    for (const Slot* slot = slots_.data() + (hash(key) >> shift_);; ++slot) {
      if (slot->key == key) return slot->merge;
      if (slot->key == kFree) return {};
    }
  }
  size_t size_bytes() const { return slots_.size() * sizeof(Slot); }

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

  LargeTable<Slot> slots_;  // extra slots at the end let a probe go past the last hash value
  int shift_ = 0;
};

// Merges a word of n symbols in time O(n), and in O(n log n) at worst, whatever the merges are. Not
// thread-safe: each thread needs its own.
class BpeMerger {
 public:
  explicit BpeMerger(const PairTable& pairs) : pairs_(pairs) {}

  // Writes the ids that remain of `symbols` to `out`, which must not overlap it, and returns their
  // end.
  int32_t* merge(std::span<const int32_t> symbols, int32_t* out);

  struct Token {
    int32_t id;
    uint32_t begin;  // the index of its first symbol
  };
  // Gives the same ids and where each begins. The result is valid until the next call.
  std::span<const Token> merge_ranged(std::span<const int32_t> symbols);
  void shrink(size_t max_bytes);

 private:
  struct Node {
    int32_t id;  // -1: merged into the symbol before it
    uint32_t previous, next;
    uint32_t rank;  // the rank of the pair of this symbol and the next one
    int32_t merged;
  };
  struct Candidate {
    uint32_t rank, position;
  };

  std::span<const Token> merge_whole(std::span<const int32_t> symbols);
  int32_t* merge_short(std::span<const int32_t> symbols, int32_t* out);
  // Appends the tokens of `symbols`. Their positions count from `base`.
  void merge_window(std::span<const int32_t> symbols, uint32_t base, std::vector<Token>& tokens);
  void next_window(std::span<const int32_t> symbols, uint32_t begin, size_t size);
  void merge_at(uint32_t position);
  void rank_pair(uint32_t position);
  void push(Candidate candidate);
  Candidate pop();
  bool joins(std::span<const int32_t> symbols, const Token& left, const Token& right,
             uint32_t right_end);

  const PairTable& pairs_;
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
  std::vector<Token> tokens_;
  std::vector<Token> window_;  // the tokens of window_size_ symbols
  size_t window_size_ = 0;
  std::vector<Token> joined_;
  // The last two tokens that joined: the symbols of both, and the number of symbols of the left
  // one.
  std::vector<int32_t> joined_symbols_;
  uint32_t joined_border_ = 0;
};

}  // namespace encode
