// Tokens and their ids: the strings in one arena, an open-addressing table over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

class Vocabulary {
 public:
  // False, and nothing is added, where the token is there already.
  bool add(std::string_view token, int32_t id);
  void reserve(size_t tokens);

  int32_t find(std::string_view token) const;  // -1: not there
  size_t size() const { return entries_.size(); }
  int32_t max_id() const { return max_id_; }  // -1: empty

  struct Entry {
    uint64_t offset;
    uint32_t size;
    int32_t id;
  };
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of addition
  std::string_view token(const Entry& entry) const {
    return std::string_view(arena_).substr(entry.offset, entry.size);
  }

 private:
  void rehash(size_t slots);

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<uint32_t>
      slots_;  // 1 + index of the entry, 0: free; a power of two, at most half full
  int32_t max_id_ = -1;
};

}  // namespace encode
