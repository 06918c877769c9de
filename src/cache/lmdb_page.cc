#include "cache/lmdb_page.h"

#include <algorithm>
#include <bitset>

namespace encode {
namespace {

constexpr uint16_t kLongValue = 1;  // F_BIGDATA
constexpr uint16_t kTreeValue = 2;  // F_SUBDATA
constexpr size_t kMostKeyBytes = 511;

struct NodeHeader {
  uint16_t low = 0;  // the low bits of the size of the value, or of the number of the child
  uint16_t high = 0;
  uint16_t flags = 0;  // in a branch: the highest bits of the number of the child
  uint16_t key_bytes = 0;
};
static_assert(sizeof(NodeHeader) == 8);

bool is_leaf(std::span<const std::byte> page) {
  return copied_from<LmdbPageHeader>(page).flags == LmdbPageHeader::kLeaf;
}

size_t offset_of(std::span<const std::byte> page, size_t n) {
  return copied_from<uint16_t>(page, sizeof(LmdbPageHeader) + n * sizeof(uint16_t));
}

size_t bytes_of_value(const NodeHeader& header) { return header.low | size_t{header.high} << 16; }

size_t bytes_of_node(const NodeHeader& header, bool leaf) {
  size_t bytes = sizeof header + header.key_bytes;
  if (leaf) bytes += header.flags == kLongValue ? sizeof(uint64_t) : bytes_of_value(header);
  return (bytes + 1) / 2 * 2;
}

const char* problem_of_value(const LmdbTreeRules& tree, const NodeHeader& header) {
  const bool is_long = header.flags == kLongValue;
  if (header.flags != (tree.values == LmdbTreeRules::Values::kTrees ? kTreeValue : 0) &&
      !(is_long && !tree.value_bytes))
    return "the flags of an entry are wrong";
  if (tree.value_bytes && bytes_of_value(header) != *tree.value_bytes)
    return "a value has a wrong size";
  return nullptr;
}

const char* problem_of_node(std::span<const std::byte> page, const LmdbPageRules& rules, size_t n) {
  const auto page_header = copied_from<LmdbPageHeader>(page);
  const size_t offset = offset_of(page, n);
  if (offset < page_header.upper || offset % 2 != 0 || offset > page.size() - sizeof(NodeHeader))
    return "an entry is at a wrong place";
  const auto header = copied_from<NodeHeader>(page, offset);
  if (const char* problem = rules.leaf ? problem_of_value(rules.tree, header) : nullptr)
    return problem;
  if (bytes_of_node(header, rules.leaf) > page.size() - offset)
    return "an entry reaches beyond its page";
  const size_t key = rules.tree.key_bytes;
  const bool good_key =
      key > 0 ? header.key_bytes == key : header.key_bytes > 0 && header.key_bytes <= kMostKeyBytes;
  // LMDB may leave out the first key of a branch, because it does not use this key.
  const bool no_key = !rules.leaf && n == 0 && header.key_bytes == 0;
  if (!good_key && !no_key) return "a key has a wrong size";
  const LmdbNode node = node_of(page, n);
  if (rules.leaf && header.flags != kLongValue) return nullptr;
  const uint64_t pages = rules.leaf ? overflow_pages_of(node.value_bytes, page.size()) : 1;
  const bool inside = node.page >= kFirstLmdbPage && node.page <= rules.last_page &&
                      pages <= rules.last_page - node.page + 1;
  return inside ? nullptr : "an entry refers to a page that does not exist";
}

// The nodes fill the page from LmdbPageHeader::upper to its end, in any order. LMDB relies on it
// when it moves them.
const char* problem_of_nodes(std::span<const std::byte> page, const LmdbPageRules& rules) {
  const size_t count = nodes_of(page);
  std::bitset<kMostLmdbPageBytes / 2> begins;
  for (size_t n = 0; n < count; ++n) {
    if (const char* problem = problem_of_node(page, rules, n)) return problem;
    begins.set(offset_of(page, n) / 2);
  }
  size_t found = 0;
  size_t offset = copied_from<LmdbPageHeader>(page).upper;
  for (; offset < page.size() && begins.test(offset / 2); ++found)
    offset += bytes_of_node(copied_from<NodeHeader>(page, offset), rules.leaf);
  return offset == page.size() && found == count ? nullptr : "entries overlap or leave a gap";
}

const char* problem_of_order(std::span<const std::byte> page, const LmdbPageRules& rules) {
  std::optional<LmdbKey> last;
  for (size_t n = rules.leaf ? 0 : 1; n < nodes_of(page); ++n) {
    const LmdbKey key = node_of(page, n).key;
    if (last && compare_keys(rules.tree, *last, key) >= 0) return "keys do not rise";
    if (!last && rules.from && compare_keys(rules.tree, key, *rules.from) < 0)
      return "a key is less than its branch says";
    last = key;
  }
  if (last && rules.to && compare_keys(rules.tree, *last, *rules.to) >= 0)
    return "a key is greater than its branch says";
  return nullptr;
}

}  // namespace

int compare_keys(const LmdbTreeRules& rules, LmdbKey a, LmdbKey b) {
  if (rules.integer_keys) {
    const auto left = copied_from<uint64_t>(a);
    const auto right = copied_from<uint64_t>(b);
    return left < right ? -1 : static_cast<int>(left > right);
  }
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : static_cast<int>(a.size() > b.size());
}

uint64_t overflow_pages_of(uint64_t value_bytes, size_t page_bytes) {
  return (sizeof(LmdbPageHeader) + value_bytes + page_bytes - 1) / page_bytes;
}

const char* problem_of(std::span<const std::byte> page, const LmdbPageRules& rules) {
  const auto header = copied_from<LmdbPageHeader>(page);
  if (header.number != rules.number) return "another page is at its place";
  if (header.flags != (rules.leaf ? LmdbPageHeader::kLeaf : LmdbPageHeader::kBranch))
    return "it is of another kind";
  if (header.lower < sizeof header || header.lower % 2 != 0 || header.lower > header.upper ||
      header.upper > page.size() || header.upper % 2 != 0)
    return "its header is wrong";
  if (nodes_of(page) < (rules.leaf ? 1 : 2)) return "it has too few entries";
  if (const char* problem = problem_of_nodes(page, rules)) return problem;
  return problem_of_order(page, rules);
}

size_t nodes_of(std::span<const std::byte> page) {
  return (copied_from<LmdbPageHeader>(page).lower - sizeof(LmdbPageHeader)) / sizeof(uint16_t);
}

LmdbNode node_of(std::span<const std::byte> page, size_t n) {
  const size_t offset = offset_of(page, n);
  const auto header = copied_from<NodeHeader>(page, offset);
  const std::span<const std::byte> rest = page.subspan(offset + sizeof header);
  LmdbNode node;
  node.key = rest.first(header.key_bytes);
  if (!is_leaf(page)) {
    node.page = header.low | uint64_t{header.high} << 16 | uint64_t{header.flags} << 32;
    return node;
  }
  node.value_bytes = bytes_of_value(header);
  if (header.flags == kLongValue) {
    node.page = copied_from<uint64_t>(rest, header.key_bytes);
  } else {
    node.value = rest.subspan(header.key_bytes, node.value_bytes);
  }
  return node;
}

}  // namespace encode
