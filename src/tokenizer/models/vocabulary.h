// Tokens and their ids. The strings lie in one arena, with a table with open addressing over it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/models/large_table.h"

namespace encode {

class Vocabulary {
 public:
  struct Entry {
    uint64_t offset;
    uint32_t size;
    int32_t id;
  };

  // Returns false and adds nothing if the token is there already.
  bool add(std::string_view token, int32_t id);
  void reserve(size_t tokens);

  int32_t find(std::string_view token) const;             // -1: the token is not there
  const Entry* find_entry(std::string_view token) const;  // null: the token is not there
  // Gives the id of each of `tokens`, -1 if it is not there. The table is larger than the
  // processor's caches: if many tokens are looked up at once, their memory accesses overlap.
  void find_all(std::span<const std::string_view> tokens, std::span<int32_t> ids) const;
  size_t size() const { return entries_.size(); }
  int32_t max_id() const { return max_id_; }  // -1: empty

  std::span<const Entry> entries() const { return entries_; }  // in the order of their addition
  std::string_view token(const Entry& entry) const {
    return std::string_view(arena_).substr(entry.offset, entry.size);
  }

 private:
  struct Slot {
    uint32_t tag = 0;    // the high bits of the hash, which tell most tokens apart
    uint32_t entry = 0;  // 0: the slot is free, else 1 + the index of the entry
  };

  void rehash(size_t slots);
  void place(uint64_t hash, uint32_t entry);
  const Entry* find_hashed(std::string_view token, uint64_t hash) const;

  std::string arena_;
  LargeTable<Entry> entries_;
  LargeTable<Slot> slots_;  // a power of two of slots, at most half of them taken
  int32_t max_id_ = -1;
};

// The spelling of every id, for messages and output.
class TokenSpellings {
 public:
  explicit TokenSpellings(std::span<const std::string_view> by_id = {});

  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t id) const {
    const uint64_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::string_view(arena_).substr(begin, ends_[id] - begin);
  }

 private:
  std::string arena_;
  std::vector<uint64_t> ends_;
};

}  // namespace encode
