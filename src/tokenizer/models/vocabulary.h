// Maps tokens to ids. The strings of all tokens are in one buffer, and a hash table with open
// addressing finds them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/models/large_table.h"

namespace encode {

// Any number of threads may read it while no thread adds a token. It throws no Error.
class Vocabulary {
 public:
  struct Entry {
    uint64_t offset;
    uint32_t size;
    int32_t id;
  };

  // Returns false and adds nothing if the vocabulary already has the token.
  bool add(std::string_view token, int32_t id);
  void reserve(size_t tokens);

  int32_t find(std::string_view token) const;             // returns -1 if the token is unknown
  const Entry* find_entry(std::string_view token) const;  // returns null if the token is unknown
  // Writes the id of each of `tokens` to `ids`, or -1 if the token is unknown. The memory accesses
  // of the look-ups overlap. So this is faster than find(), because the table is larger than the
  // processor's caches.
  void find_all(std::span<const std::string_view> tokens, std::span<int32_t> ids) const;
  size_t size() const { return entries_.size(); }
  int32_t max_id() const { return max_id_; }  // -1 if there are no tokens

  std::span<const Entry> entries() const { return entries_; }  // in the order of the calls of add()
  // The view is valid until the next add().
  std::string_view token(const Entry& entry) const {
    return std::string_view(arena_).substr(entry.offset, entry.size);
  }

 private:
  struct Slot {
    uint32_t tag = 0;    // the high bits of the hash, which differ for most tokens
    uint32_t entry = 0;  // 1 + the index of the entry; 0 if the slot is free
  };

  void rehash(size_t slots);
  void place(uint64_t hash, uint32_t entry);
  const Entry* find_hashed(std::string_view token, uint64_t hash) const;

  std::string arena_;
  LargeTable<Entry> entries_;
  LargeTable<Slot> slots_;  // their number is a power of two; at most half of them are taken
  int32_t max_id_ = -1;
};

// The spelling of each id, for messages and output. Immutable. Any number of threads may use it.
class TokenSpellings {
 public:
  explicit TokenSpellings(std::span<const std::string_view> by_id = {});

  size_t size() const { return ends_.size(); }
  // `id` is below size().
  std::string_view operator[](size_t id) const {
    const uint64_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::string_view(arena_).substr(begin, ends_[id] - begin);
  }

 private:
  std::string arena_;
  std::vector<uint64_t> ends_;
};

}  // namespace encode
