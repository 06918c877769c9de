#include "tokenizer/byte_trie.h"

#include <algorithm>

namespace encode {

// Entries [begin, end) share their first `depth` bytes and end up below `node`.
struct ByteTrie::Range {
  uint32_t node;
  size_t begin, end, depth;
};

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end());
  nodes_.resize(1024);
  nodes_[kRoot].parent = kNoNode - 1;  // taken, and nobody's child
  std::vector<Range> todo{{kRoot, 0, entries.size(), 0}};
  while (!todo.empty()) {
    const Range range = todo.back();
    todo.pop_back();
    place(range.node, range, entries, todo);
  }
  // A child index never leaves the array: base + 255 must exist for every node.
  uint32_t last = 0;
  for (const Node& node : nodes_) last = std::max(last, node.base);
  nodes_.resize(size_t{last} + 256);
  nodes_.shrink_to_fit();
}

void ByteTrie::place(uint32_t node, const Range& range, const std::vector<Entry>& entries,
                     std::vector<Range>& todo) {
  size_t i = range.begin;
  if (i < range.end && entries[i].first.size() == range.depth)
    nodes_[node].id = entries[i++].second;
  if (i == range.end) return;
  std::vector<unsigned char> bytes;
  std::vector<size_t> starts;
  for (size_t j = i; j < range.end; ++j) {
    const auto byte = static_cast<unsigned char>(entries[j].first[range.depth]);
    if (bytes.empty() || bytes.back() != byte) {
      bytes.push_back(byte);
      starts.push_back(j);
    }
  }
  starts.push_back(range.end);
  const uint32_t base = find_base(bytes);
  nodes_[node].base = base;
  for (const unsigned char byte : bytes) nodes_[base + byte].parent = node;
  for (size_t k = 0; k < bytes.size(); ++k) {
    todo.push_back({base + bytes[k], starts[k], starts[k + 1], range.depth + 1});
  }
}

// The lowest place where all of `bytes` find a free node, from where the array is no longer nearly
// full.
uint32_t ByteTrie::find_base(const std::vector<unsigned char>& bytes) {
  const auto is_free = [this](uint32_t i) { return nodes_[i].parent == kNoNode; };
  uint32_t skipped = 0;
  for (uint32_t at = std::max<uint32_t>(first_free_, bytes.front() + 1U);; ++at) {
    if (size_t{at} + 512 > nodes_.size()) nodes_.resize(nodes_.size() * 2);
    if (!is_free(at)) {
      ++skipped;
      continue;
    }
    const uint32_t base = at - bytes.front();
    if (std::all_of(bytes.begin(), bytes.end(),
                    [&](unsigned char b) { return is_free(base + b); })) {
      // Mostly full up to here: do not search it again for every node.
      const uint32_t searched = at - first_free_ + 1;
      if (skipped * 20 >= searched * 19) first_free_ = at;
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
