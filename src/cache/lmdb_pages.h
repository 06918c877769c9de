// Reads and checks the pages of LMDB's file without LMDB. LMDB trusts its file: a damaged number in
// a page makes it access memory out of bounds, follow pages in a circle, or overwrite pages that
// are in use. So the pages are checked here before LMDB changes them or walks over a table.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/file.h"
#include "cache/folder.h"
#include "cache/lmdb_page.h"

namespace encode {

enum class LmdbTable { kBlocks, kIndex, kUses };

// One thread at a time may use it; any thread may call reads(). All functions throw Error kData
// "cache.damaged", or "cache.store" if the system refuses to read. The size of the file bounds the
// time and the memory of each function, also if the file is damaged.
class LmdbPages {
 public:
  // Opens data.mdb, and checks both meta pages and the size of the file.
  explicit LmdbPages(const CacheFolder& folder);

  // Returns true if data.mdb is shorter than its two meta pages, and if what it has may be the
  // begin of a new store. Another process may be writing these pages. mdb_env_open() waits for that
  // process, which holds a lock, and refuses the file if it is still too short.
  static bool may_be_unfinished(const CacheFolder& folder);

  // Returns how often the file was read. Any thread may call it.
  int64_t reads() const { return reads_.load(std::memory_order_relaxed); }

  // Takes the state after the transaction for the checks below, and checks which tables it has.
  // Returns false if later transactions have replaced this state in the file. The caller must have
  // a transaction of LMDB open that began with this state, so that its pages are not reused.
  bool turn_to(uint64_t transaction);

  // Checks the pages on the path to the key. With kNeighbours it also checks their sibling pages,
  // because LMDB merges a page that has become small with a sibling. Skips pages that were checked
  // since turn_to().
  enum class Extent { kPath, kNeighbours };
  void check_path(LmdbTable table, LmdbKey key, Extent extent);
  // Checks the list of free pages.
  void check_free_pages();
  // Checks all pages of the table, and the number of its entries.
  void check_table(LmdbTable table);
  // Checks all pages of the file, and that none is used twice.
  void check_all();

 private:
  using Page = std::vector<std::byte>;
  struct Tree {
    LmdbTreeRules rules;
    LmdbTree facts = {};
  };
  // What a walk over the pages has found.
  struct Walk {
    std::vector<bool> used;  // by page
    LmdbTree found = {};
  };

  [[noreturn]] void fail(const std::string& found) const;
  void read_meta_pages();
  std::optional<std::string> read_meta_pages(std::array<Page, 2>& pages);
  const char* problem_of_meta(const std::array<Page, 2>& pages) const;
  const char* problem_of_tree(const LmdbTree& tree, const LmdbTree& expected) const;
  void check_length();
  void read_tables();
  std::vector<std::byte> read_bytes(uint64_t offset, size_t size) const;
  Page read(uint64_t number) const;
  Page read_checked(const LmdbPageRules& rules) const;
  const Page& branch(const LmdbPageRules& rules);
  void check_page(const LmdbPageRules& rules);
  // Returns the number of pages of a long value.
  uint64_t check_overflow(const LmdbNode& node, const LmdbTreeRules& rules) const;
  LmdbPageRules root_of(const Tree& tree) const;
  void walk_tree(const Tree& tree, Walk& walk) const;
  void walk_page(const LmdbPageRules& rules, int levels, Walk& walk) const;
  void walk_leaf(const Page& page, const LmdbPageRules& rules, Walk& walk) const;
  void use(uint64_t page, uint64_t pages, Walk& walk) const;
  void use_free_pages(const LmdbNode& node, Walk& walk) const;
  Walk new_walk() const { return {.used = std::vector<bool>(state_.last_page + 1)}; }

  const CacheFolder folder_;
  const UniqueFd file_;
  mutable std::atomic<int64_t> reads_ = 0;
  size_t page_bytes_ = 0;
  std::array<LmdbMeta, 2> metas_;
  LmdbMeta state_;              // the state of the last turn_to()
  std::array<Tree, 3> tables_;  // by LmdbTable
  // Pages that were checked since turn_to().
  std::unordered_map<uint64_t, Page> branches_;
  std::unordered_set<uint64_t> leaves_;
};

}  // namespace encode
