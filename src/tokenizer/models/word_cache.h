// A cache of the ids of short words. Nearly all words of a text are short and occur again. The size
// of a cache is fixed. Only one thread at a time may use a cache.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "tokenizer/split/text_pattern.h"

namespace encode {

// A word of up to kMaxBytes bytes, stored in two 64-bit numbers. The last byte has the size of the
// word and the count of add_spaces().
struct WordKey {
  uint64_t low = 0;
  uint64_t high = 0;

  static constexpr size_t kMaxBytes = 15;
  static constexpr size_t kMaxSpaces = 15;

  // `readable_end` is the end of the memory after the word that may be read. If 16 bytes may be
  // read, the key is made without a loop over bytes. The word has at most kMaxBytes bytes.
  WordKey(std::string_view word, const char* readable_end) {
    const size_t size = word.size();
    if (readable_end - word.data() >= 16) {
      std::memcpy(&low, word.data(), 8);
      std::memcpy(&high, word.data() + 8, 8);
      if (size < 8) {
        low &= (uint64_t{1} << (8 * size)) - 1;  // little-endian: the first `size` bytes
        high = 0;
      } else {
        high &= (uint64_t{1} << (8 * (size - 8))) - 1;
      }
    } else {
      char bytes[16] = {};
      std::memcpy(bytes, word.data(), size);
      std::memcpy(&low, bytes, 8);
      std::memcpy(&high, bytes + 8, 8);
    }
    high |= static_cast<uint64_t>(size) << 56;
  }
  // Makes this the key of the word with `count` U+2581 before it. These take no bytes of the key.
  // The word may then be empty. `count` is at most kMaxSpaces.
  void add_spaces(size_t count) { high |= static_cast<uint64_t>(count) << 60; }
  bool operator==(const WordKey&) const = default;
};

class WordCache {
 public:
  static constexpr size_t kMaxIds = 4;
  static constexpr size_t kSizeBytes = size_t{2} << 20;

  WordCache() : sets_(new Set[kSets]) {}

  // Writes the ids of all pieces of `text` to `out` and returns the end of the ids. Calls
  // `tokenize_word(word, out)` for each word that the cache does not have. tokenize_word() writes
  // the ids of the word to `out` and returns the end of the ids.
  template <typename TokenizeWord>
  int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, int32_t* out,
                    TokenizeWord&& tokenize_word) {
    const char* readable_end = text.data() + text.size();
    for (const Piece& piece : pieces) {
      const std::string_view word = text.substr(piece.begin, piece.end - piece.begin);
      if (word.size() > WordKey::kMaxBytes) {
        out = tokenize_word(word, out);
      } else {
        out = tokenize_keyed(WordKey(word, readable_end), word, out, tokenize_word);
      }
    }
    return out;
  }
  template <typename TokenizeWord>
  int32_t* tokenize_keyed(const WordKey& key, std::string_view word, int32_t* out,
                          TokenizeWord&& tokenize_word) {
    if (int32_t* end = find(key, out); end != nullptr) return end;
    int32_t* end = tokenize_word(word, out);
    insert(key, out, end);
    return end;
  }

  // Writes the ids of `key` to `out`, which must have room for kMaxIds ids, and returns the end of
  // the ids. Returns null if the cache does not have the key.
  int32_t* find(const WordKey& key, int32_t* out) const {
    const Set& set = sets_[index(key)];
    for (const Entry& entry : set.entries) {
      if (entry.key_low != key.low || entry.key_high != key.high) continue;
      std::memcpy(out, entry.ids, sizeof entry.ids);
      return out + (entry.ids[0] >= 0) + (entry.ids[1] >= 0) + (entry.ids[2] >= 0) +
             (entry.ids[3] >= 0);
    }
    return nullptr;
  }

  // Stores the ids of a word. Does nothing if there are more than kMaxIds ids. The word replaces
  // the older of the two words in its set.
  void insert(const WordKey& key, const int32_t* begin, const int32_t* end) {
    const auto count = static_cast<size_t>(end - begin);
    if (count > kMaxIds) return;
    Set& set = sets_[index(key)];
    set.entries[1] = set.entries[0];
    Entry& entry = set.entries[0];
    entry.key_low = key.low;
    entry.key_high = key.high;
    for (size_t i = 0; i < kMaxIds; ++i) entry.ids[i] = i < count ? begin[i] : -1;
  }

 private:
  struct Entry {
    uint64_t key_low = 0;
    uint64_t key_high = 0;  // 0 if the entry is free; no key has 0 here (it has a size or spaces)
    int32_t ids[kMaxIds] = {};
  };
  struct alignas(64) Set {
    Entry entries[2];
  };
  static constexpr size_t kSets = kSizeBytes / sizeof(Set);
  static constexpr int kSetBits = 15;
  static_assert(kSets == size_t{1} << kSetBits);

  static size_t index(const WordKey& key) {
    uint64_t hash = (key.low ^ key.low >> 29) * 0x9E3779B97F4A7C15U +
                    (key.high ^ key.high >> 31) * 0xD6E8FEB86659FD93U;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93U;
    return static_cast<size_t>(hash >> (64 - kSetBits));
  }

  std::unique_ptr<Set[]> sets_;
};

}  // namespace encode
