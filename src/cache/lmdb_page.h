// The format of LMDB's file (data version 1), and the check of one of its pages. The names of
// LMDB's own structs are in parentheses. Any thread may call these functions. They throw no Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace encode {

inline constexpr size_t kMostLmdbPageBytes = 32768;
inline constexpr uint64_t kFirstLmdbPage = 2;  // after the meta pages

// A B+ tree (MDB_db).
struct LmdbTree {
  static constexpr uint64_t kNoPage = ~uint64_t{0};

  uint32_t page_bytes = 0;  // only in the tree of free pages; 0 in other trees
  uint16_t flags = 0;
  uint16_t depth = 0;  // levels of pages; 0 if the tree is empty
  uint64_t branch_pages = 0;
  uint64_t leaf_pages = 0;
  uint64_t overflow_pages = 0;
  uint64_t entries = 0;
  uint64_t root = kNoPage;
};
static_assert(sizeof(LmdbTree) == 48);

// The state after a transaction (MDB_meta), behind the header of its page. Page 0 has the state
// after the last transaction with an even number, and page 1 the state after the last one with an
// odd number.
struct LmdbMeta {
  static constexpr uint32_t kMagic = 0xBEEFC0DE;
  static constexpr uint32_t kVersion = 1;

  uint32_t magic = 0;
  uint32_t version = 0;
  uint64_t address = 0;
  uint64_t map_bytes = 0;
  LmdbTree free;  // transaction -> the pages that it has freed
  LmdbTree main;  // name -> LmdbTree
  uint64_t last_page = 0;
  uint64_t transaction = 0;
};
static_assert(sizeof(LmdbMeta) == 136);

// The start of every page (MDB_page).
struct LmdbPageHeader {
  static constexpr uint16_t kBranch = 1;
  static constexpr uint16_t kLeaf = 2;
  static constexpr uint16_t kOverflow = 4;
  static constexpr uint16_t kMeta = 8;

  uint64_t number = 0;
  uint16_t unused = 0;
  uint16_t flags = 0;
  uint16_t lower = 0;  // the end of the list of nodes
  uint16_t upper = 0;  // the beginning of the nodes
  uint32_t overflow_pages() const { return lower | uint32_t{upper} << 16; }
};
static_assert(sizeof(LmdbPageHeader) == 16);

// The rules for the entries of a tree.
struct LmdbTreeRules {
  enum class Values { kBytes, kTrees, kFreePages };

  size_t key_bytes = 0;       // of every key; 0: keys have 1 to 511 bytes
  bool integer_keys = false;  // keys are uint64_t in the order of numbers
  // The size of every value; nullopt: any size, and long values are in overflow pages.
  std::optional<size_t> value_bytes = {};
  Values values = Values::kBytes;
};

using LmdbKey = std::span<const std::byte>;
// Returns a number below 0 if a < b, 0 if a == b, and a number above 0 if a > b.
int compare_keys(const LmdbTreeRules& rules, LmdbKey a, LmdbKey b);

// An entry of a page (MDB_node).
struct LmdbNode {
  LmdbKey key;
  // In a branch: the child page. For a long value: its first overflow page.
  uint64_t page = LmdbTree::kNoPage;
  uint64_t value_bytes = 0;
  std::span<const std::byte> value;  // empty if the value is long
};

// The number of overflow pages that a long value takes.
uint64_t overflow_pages_of(uint64_t value_bytes, size_t page_bytes);

// The rules for a page.
struct LmdbPageRules {
  LmdbTreeRules tree;
  uint64_t number;
  uint64_t last_page;
  bool leaf;
  std::optional<LmdbKey> from = {};  // no key of the page is below this one
  std::optional<LmdbKey> to = {};    // all keys of the page are below this one
};

// Returns what is wrong with the page, or nullptr. If nothing is wrong, node_of() accepts the page,
// and LMDB can read and change it without accessing memory outside it.
const char* problem_of(std::span<const std::byte> page, const LmdbPageRules& rules);

// These functions may be called only for a page that problem_of() accepts.
size_t nodes_of(std::span<const std::byte> page);
LmdbNode node_of(std::span<const std::byte> page, size_t n);

// Returns the object at `offset`. The bytes must hold the whole of it.
template <typename T>
T copied_from(std::span<const std::byte> bytes, size_t offset = 0) {
  T object;
  std::memcpy(&object, bytes.subspan(offset, sizeof object).data(), sizeof object);
  return object;
}

}  // namespace encode
