// A double-array trie that maps strings to ids. It finds the longest of its strings, or all of its
// strings, that a text begins with. A search reads one array element for each byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/models/large_table.h"

namespace encode {

// Immutable. Any number of threads may use it. It throws no Error.
class ByteTrie {
 public:
  using Entry = std::pair<std::string_view, int32_t>;
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNoNode = UINT32_MAX;

  ByteTrie() = default;
  // `entries` are distinct, non-empty strings in any order, with ids >= 0. The strings are copied.
  explicit ByteTrie(const std::vector<Entry>& entries);

  bool empty() const { return nodes_.empty(); }
  // Returns the child of `node` for `byte`, or kNoNode if there is no child. `node` must not be
  // kNoNode.
  uint32_t child(uint32_t node, char byte) const {
    const uint32_t next = nodes_[node].base + static_cast<unsigned char>(byte);
    return nodes_[next].parent == node ? next : kNoNode;
  }
  // `node` is a node of a trie that is not empty.
  int32_t id(uint32_t node) const { return nodes_[node].id; }  // -1: no string ends here
  // Follows `bytes` from `node`. Returns the last node, or kNoNode if a child is missing.
  uint32_t walk(uint32_t node, std::string_view bytes) const;

  struct Found {
    int32_t id = -1;
    uint32_t size = 0;  // the size of the string in bytes
  };
  // Returns the longest string below `node` that the text [p, end) begins with. The id is -1 if
  // there is no string.
  Found longest(uint32_t node, const char* p, const char* end) const {
    Found found;
    for (const char* q = p; q < end;) {
      node = child(node, *q++);
      if (node == kNoNode) break;
      if (nodes_[node].id >= 0) found = {nodes_[node].id, static_cast<uint32_t>(q - p)};
    }
    return found;
  }

 private:
  struct Node {
    uint32_t base = 0;  // the child for `byte` is at base + byte
    uint32_t parent = kNoNode;
    int32_t id = -1;
  };
  struct Range;
  class SortedEntries;

  uint32_t next_free(uint32_t at);
  uint32_t find_base(std::span<const unsigned char> bytes);
  void place(const Range& range, const SortedEntries& entries, std::vector<Range>& todo);

  LargeTable<Node> nodes_;
  // The search for free nodes begins at first_gap_ for a parent with one child, and at first_free_
  // for a parent with several children. Few nodes before these indices are free.
  uint32_t first_gap_ = 1;
  uint32_t first_free_ = 1;
};

}  // namespace encode
