#include "tokenizer/models/byte_trie.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace encode {
namespace {

// The first 16 bytes of a string as two numbers. Comparing them gives the order of the bytes.
struct FirstBytes {
  uint64_t high, low;
  auto operator<=>(const FirstBytes&) const = default;
};

FirstBytes first_bytes(std::string_view text) {
  unsigned char bytes[sizeof(FirstBytes)] = {};
  if (!text.empty()) std::memcpy(bytes, text.data(), std::min(text.size(), sizeof bytes));
  const auto number = [&bytes](size_t begin) {
    uint64_t value = 0;
    for (size_t i = begin; i < begin + sizeof value; ++i) value = value << 8 | bytes[i];
    return value;
  };
  return {number(0), number(sizeof(uint64_t))};
}

}  // namespace

// The strings in sorted order. They are contiguous in memory, because the builder reads them in
// this order at each depth.
class ByteTrie::SortedEntries {
 public:
  explicit SortedEntries(const std::vector<Entry>& entries) {
    struct Key {
      FirstBytes first_bytes;
      uint32_t entry;
    };
    std::vector<Key> keys;
    keys.reserve(entries.size());
    size_t bytes = 0;
    for (const Entry& entry : entries) {
      keys.push_back({first_bytes(entry.first), static_cast<uint32_t>(keys.size())});
      bytes += entry.first.size();
    }
    std::sort(keys.begin(), keys.end(), [&entries](const Key& a, const Key& b) {
      if (a.first_bytes != b.first_bytes) return a.first_bytes < b.first_bytes;
      return entries[a.entry].first < entries[b.entry].first;
    });
    arena_.reserve(bytes);
    items_.reserve(entries.size());
    for (const Key& key : keys) {
      const auto& [text, id] = entries[key.entry];
      items_.push_back(
          {static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(text.size()), id});
      arena_ += text;
    }
  }

  size_t size() const { return items_.size(); }
  size_t size_bytes() const { return arena_.size(); }
  size_t length(size_t i) const { return items_[i].size; }
  int32_t id(size_t i) const { return items_[i].id; }
  unsigned char byte(size_t i, size_t depth) const {
    return static_cast<unsigned char>(arena_[items_[i].offset + depth]);
  }

 private:
  struct Item {
    uint32_t offset, size;
    int32_t id;
  };
  std::string arena_;
  std::vector<Item> items_;
};

// The entries [begin, end), which have the same first `depth` bytes and belong below `node`.
struct ByteTrie::Range {
  uint32_t node, begin, end, depth;
};

ByteTrie::ByteTrie(const std::vector<Entry>& entries) {
  const SortedEntries sorted(entries);
  nodes_.reserve(sorted.size_bytes() + 1024);  // usually more than needed; unused pages are free
  nodes_.resize(1024);
  nodes_[kRoot].parent = kNoNode - 1;  // marks the root as taken and as the child of no node
  std::vector<Range> todo{{kRoot, 0, static_cast<uint32_t>(sorted.size()), 0}};
  while (!todo.empty()) {
    const Range range = todo.back();
    todo.pop_back();
    place(range, sorted, todo);
  }
  // child() does not check the index base + byte, so the array must have base + 255 for each node.
  uint32_t last = 0;
  for (const Node& node : nodes_) last = std::max(last, node.base);
  nodes_.resize(size_t{last} + 256);
}

void ByteTrie::place(const Range& range, const SortedEntries& entries, std::vector<Range>& todo) {
  uint32_t i = range.begin;
  if (i < range.end && entries.length(i) == range.depth) nodes_[range.node].id = entries.id(i++);
  if (i == range.end) return;
  std::array<unsigned char, 256> bytes;  // the bytes of the children; the first `count` are used
  std::array<uint32_t, 257> starts;
  size_t count = 0;
  for (uint32_t j = i; j < range.end; ++j) {
    const unsigned char byte = entries.byte(j, range.depth);
    if (count > 0 && bytes[count - 1] == byte) continue;
    bytes[count] = byte;
    starts[count++] = j;
  }
  starts[count] = range.end;
  const uint32_t base = find_base({bytes.data(), count});
  nodes_[range.node].base = base;
  for (size_t k = 0; k < count; ++k) {
    nodes_[base + bytes[k]].parent = range.node;
    todo.push_back({base + bytes[k], starts[k], starts[k + 1], range.depth + 1});
  }
}

// Returns the first free node at or after `at`. Enlarges the array, so that all children of a node
// fit after the returned node.
uint32_t ByteTrie::next_free(uint32_t at) {
  for (;; ++at) {
    if (size_t{at} + 512 > nodes_.size()) nodes_.resize(nodes_.size() + nodes_.size() / 4);
    if (nodes_[at].parent == kNoNode) return at;
  }
}

// Returns a base for which the node at base + byte is free for each of `bytes`.
uint32_t ByteTrie::find_base(std::span<const unsigned char> bytes) {
  const uint32_t lowest = bytes.front() + 1U;
  if (bytes.size() == 1) {  // a single child, as most nodes have, fits in the first gap
    const uint32_t at = next_free(std::max(first_gap_, lowest));
    first_gap_ = at + 1;
    return at - bytes.front();
  }
  uint32_t tried = 0;
  for (uint32_t at = next_free(std::max(first_free_, lowest));; at = next_free(at + 1)) {
    const uint32_t base = at - bytes.front();
    ++tried;
    if (std::all_of(bytes.begin(), bytes.end(), [this, base](unsigned char byte) {
          return nodes_[base + byte].parent == kNoNode;
        })) {
      // If at most 5 % of the nodes up to `at` are free, later searches begin at `at`.
      const uint32_t searched = at - first_free_ + 1;
      if (tried * 20 <= searched) first_free_ = at;
      return base;
    }
  }
}

uint32_t ByteTrie::walk(uint32_t node, std::string_view bytes) const {
  for (const char byte : bytes) {
    node = child(node, byte);
    if (node == kNoNode) return kNoNode;
  }
  return node;
}

}  // namespace encode
