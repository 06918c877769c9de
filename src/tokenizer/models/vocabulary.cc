#include "tokenizer/models/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>

namespace encode {
namespace {

constexpr size_t kLookupBatch = 32;  // the number of look-ups that overlap their memory accesses

// The seed of the hash function. It differs in each process, so that nobody can make a file with
// tokens that have the same hash.
uint64_t hash_seed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return static_cast<uint64_t>(random()) << 32 | random();
  }();
  return seed;
}

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 32;
}

uint64_t hash_of(std::string_view token, uint64_t seed) {
  uint64_t hash = seed ^ token.size();
  uint64_t word = 0;
  for (; token.size() >= sizeof word; token.remove_prefix(sizeof word)) {
    std::memcpy(&word, token.data(), sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  if (!token.empty()) std::memcpy(&word, token.data(), token.size());
  return mix(mix(hash, word), 0);
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

void Vocabulary::place(uint64_t hash, uint32_t entry) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].entry != 0) at = (at + 1) & mask;
  slots_[at] = {tag_of(hash), entry};
}

void Vocabulary::rehash(size_t slots) {
  slots_.assign(slots, {});
  for (size_t i = 0; i < entries_.size(); ++i)
    place(hash_of(token(entries_[i]), hash_seed()), static_cast<uint32_t>(i + 1));
}

void Vocabulary::reserve(size_t tokens) {
  entries_.reserve(tokens);
  const size_t slots = std::bit_ceil(std::max<size_t>(16, tokens * 2));
  if (slots > slots_.size()) rehash(slots);
}

bool Vocabulary::add(std::string_view token_text, int32_t id) {
  const uint64_t hash = hash_of(token_text, hash_seed());
  if (find_hashed(token_text, hash) != nullptr) return false;
  if ((entries_.size() + 1) * 2 > slots_.size()) rehash(std::max<size_t>(16, slots_.size() * 2));
  entries_.push_back({arena_.size(), static_cast<uint32_t>(token_text.size()), id});
  arena_ += token_text;
  place(hash, static_cast<uint32_t>(entries_.size()));
  max_id_ = std::max(max_id_, id);
  return true;
}

const Vocabulary::Entry* Vocabulary::find_hashed(std::string_view token_text, uint64_t hash) const {
  if (slots_.empty()) return nullptr;
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].entry != 0; at = (at + 1) & mask) {
    if (slots_[at].tag != tag_of(hash)) continue;
    const Entry& entry = entries_[slots_[at].entry - 1];
    if (token(entry) == token_text) return &entry;
  }
  return nullptr;
}

int32_t Vocabulary::find(std::string_view token_text) const {
  const Entry* entry = find_entry(token_text);
  return entry == nullptr ? -1 : entry->id;
}

const Vocabulary::Entry* Vocabulary::find_entry(std::string_view token_text) const {
  return find_hashed(token_text, hash_of(token_text, hash_seed()));
}

void Vocabulary::find_all(std::span<const std::string_view> tokens, std::span<int32_t> ids) const {
  std::array<uint64_t, kLookupBatch> hashes{};
  const uint64_t seed = hash_seed();
  const size_t mask = slots_.size() - 1;
  for (size_t done = 0; done < tokens.size(); done += kLookupBatch) {
    const auto batch = tokens.subspan(done, std::min(kLookupBatch, tokens.size() - done));
    for (size_t i = 0; i < batch.size() && !slots_.empty(); ++i) {
      hashes[i] = hash_of(batch[i], seed);
      __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    for (size_t i = 0; i < batch.size() && !slots_.empty(); ++i) {
      const uint32_t entry = slots_[hashes[i] & mask].entry;
      if (entry != 0) __builtin_prefetch(&entries_[entry - 1]);
    }
    for (size_t i = 0; i < batch.size() && !slots_.empty(); ++i) {
      const uint32_t entry = slots_[hashes[i] & mask].entry;
      if (entry != 0) __builtin_prefetch(arena_.data() + entries_[entry - 1].offset);
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      const Entry* entry = find_hashed(batch[i], hashes[i]);
      ids[done + i] = entry == nullptr ? -1 : entry->id;
    }
  }
}

TokenSpellings::TokenSpellings(std::span<const std::string_view> by_id) {
  size_t bytes = 0;
  for (const std::string_view token : by_id) bytes += token.size();
  arena_.reserve(bytes);
  ends_.reserve(by_id.size());
  for (const std::string_view token : by_id) {
    arena_ += token;
    ends_.push_back(arena_.size());
  }
}

}  // namespace encode
