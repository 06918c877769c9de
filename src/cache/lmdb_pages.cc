#include "cache/lmdb_pages.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <string_view>
#include <thread>
#include <utility>

namespace encode {
namespace {

constexpr ErrorCode kCode = "cache.store";
constexpr size_t kLeastPageBytes = 4096;
constexpr uint16_t kMostDepth = 32;
constexpr uint16_t kIntegerKeys = 8;  // MDB_INTEGERKEY
// LMDB does not write free pages at the end of the file, so the last pages may be missing. Fewer
// than this number are accepted.
constexpr uint64_t kMostMissingPages = 1 << 16;
constexpr size_t kMostKeptBranches = 4096;
// Another process may write a meta page while it is read. Wrong pages that stay the same are
// damage.
constexpr int kMetaAttempts = 5;
constexpr auto kMetaInterval = std::chrono::milliseconds(5);
constexpr size_t kMetaBytes = sizeof(LmdbPageHeader) + sizeof(LmdbMeta);

constexpr LmdbTreeRules kFreeRules = {.key_bytes = sizeof(uint64_t),
                                      .integer_keys = true,
                                      .values = LmdbTreeRules::Values::kFreePages};
constexpr LmdbTreeRules kMainRules = {.value_bytes = sizeof(LmdbTree),
                                      .values = LmdbTreeRules::Values::kTrees};
constexpr LmdbTreeRules kBlockRules = {.key_bytes = sizeof(uint64_t), .integer_keys = true};
constexpr LmdbTreeRules kIndexRules = {.key_bytes = 32, .value_bytes = 16};
constexpr LmdbTreeRules kUseRules = {
    .key_bytes = sizeof(uint64_t), .integer_keys = true, .value_bytes = sizeof(int64_t)};

constexpr auto kTableNames = std::to_array<std::string_view>({"blocks", "index", "uses"});

bool is_page_size(size_t bytes) {
  return bytes >= kLeastPageBytes && bytes <= kMostLmdbPageBytes && (bytes & (bytes - 1)) == 0;
}

// Returns the child of a branch that can have the key.
size_t child_of(std::span<const std::byte> page, const LmdbTreeRules& rules, LmdbKey key) {
  size_t low = 0;
  size_t high = nodes_of(page);
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    if (compare_keys(rules, node_of(page, middle).key, key) <= 0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

LmdbPageRules rules_of_child(std::span<const std::byte> page, const LmdbPageRules& branch, size_t n,
                             bool leaf) {
  const LmdbNode node = node_of(page, n);
  LmdbPageRules child = branch;
  child.number = node.page;
  child.leaf = leaf;
  if (n > 0) child.from = node.key;
  if (n + 1 < nodes_of(page)) child.to = node_of(page, n + 1).key;
  return child;
}

}  // namespace

bool LmdbPages::may_be_unfinished(const CacheFolder& folder) {
  const UniqueFd file = open_for_reading(folder.data(), kCode);
  std::array<std::byte, kMetaBytes> page;
  const auto count =
      pread_up_to(file, {reinterpret_cast<char*>(page.data()), page.size()}, /*offset=*/0);
  if (!count) throw system_error(kCode, "read", folder.data(), errno);
  if (*count < kMetaBytes) return true;
  const auto meta = copied_from<LmdbMeta>(page, sizeof(LmdbPageHeader));
  const size_t page_bytes = meta.free.page_bytes;
  return meta.transaction == 0 && is_page_size(page_bytes) &&
         static_cast<size_t>(file_size(file, folder.data())) < kFirstLmdbPage * page_bytes;
}

LmdbPages::LmdbPages(const CacheFolder& folder)
    : folder_(folder),
      file_(open_for_reading(folder.data(), kCode)),
      tables_({Tree{.rules = kBlockRules}, Tree{.rules = kIndexRules}, Tree{.rules = kUseRules}}) {
  read_meta_pages();
  for (bool changed = true; changed;) {
    state_ = metas_[metas_[0].transaction < metas_[1].transaction ? 1 : 0];
    changed = false;
    try {
      check_length();
    } catch (const Error&) {
      read_meta_pages();
      changed = std::max(metas_[0].transaction, metas_[1].transaction) > state_.transaction;
      if (!changed) throw;  // if changed, another process may have reused the pages during the read
    }
  }
}

void LmdbPages::fail(const std::string& found) const { throw damaged_store(folder_, found); }

void LmdbPages::read_meta_pages() {
  std::array<Page, 2> pages;
  std::optional<std::string> problem = read_meta_pages(pages);
  for (int equal = 1; problem; ++equal) {
    if (equal == kMetaAttempts) fail(*problem);
    std::this_thread::sleep_for(kMetaInterval);
    std::array<Page, 2> again;
    problem = read_meta_pages(again);
    if (again != pages) equal = 0;
    pages = std::move(again);
  }
}

// Reads the meta pages into `pages` and metas_. Returns what is wrong with them.
std::optional<std::string> LmdbPages::read_meta_pages(std::array<Page, 2>& pages) {
  const auto file_bytes = static_cast<size_t>(file_size(file_, folder_.data()));
  if (file_bytes < kLeastPageBytes + kMetaBytes)
    return fmt::format("a file of {} bytes", file_bytes);
  pages[0] = read_bytes(0, kMetaBytes);
  page_bytes_ = copied_from<LmdbMeta>(pages[0], sizeof(LmdbPageHeader)).free.page_bytes;
  if (!is_page_size(page_bytes_) || file_bytes < page_bytes_ + kMetaBytes)
    return "a meta page: the size of its pages is wrong";
  pages[1] = read_bytes(page_bytes_, kMetaBytes);
  for (size_t n = 0; n < pages.size(); ++n)
    metas_[n] = copied_from<LmdbMeta>(pages[n], sizeof(LmdbPageHeader));
  const char* const problem = problem_of_meta(pages);
  if (problem == nullptr) return std::nullopt;
  return fmt::format("a meta page: {}", problem);
}

const char* LmdbPages::problem_of_meta(const std::array<Page, 2>& pages) const {
  const auto file_pages = static_cast<uint64_t>(file_size(file_, folder_.data())) / page_bytes_;
  for (size_t n = 0; n < pages.size(); ++n) {
    const auto header = copied_from<LmdbPageHeader>(pages[n]);
    const LmdbMeta& meta = metas_[n];
    if (header.number != n || header.flags != LmdbPageHeader::kMeta) return "its header is wrong";
    if (meta.magic != LmdbMeta::kMagic) return "it is not of LMDB";
    if (meta.version != LmdbMeta::kVersion) return "it is of another version of LMDB";
    if (meta.last_page < kFirstLmdbPage - 1 || meta.last_page >= file_pages + kMostMissingPages)
      return "the file ends before the last page";
    if (meta.transaction != 0 && meta.transaction % 2 != n) return "its transaction is wrong";
    for (const auto& [tree, expected] :
         {std::pair(meta.free, LmdbTree{.page_bytes = static_cast<uint32_t>(page_bytes_),
                               .flags = kIntegerKeys}),
          std::pair(meta.main, LmdbTree())}) {
      if (const char* problem = problem_of_tree(tree, expected)) return problem;
      if (tree.depth > 0 && tree.root > meta.last_page) return "the root of a tree is wrong";
    }
  }
  const uint64_t first = metas_[0].transaction;
  const uint64_t second = metas_[1].transaction;
  if (std::max(first, second) - std::min(first, second) > 1)
    return "the transactions do not follow each other";
  return nullptr;
}

// Returns what is wrong with the tree, or nullptr. Of `expected` it uses only `page_bytes` and
// `flags`.
const char* LmdbPages::problem_of_tree(const LmdbTree& tree, const LmdbTree& expected) const {
  if (tree.flags != expected.flags || tree.page_bytes != expected.page_bytes)
    return "the kind of a tree is wrong";
  const uint64_t pages = std::max(metas_[0].last_page, metas_[1].last_page) + 1;
  if (tree.depth > kMostDepth || tree.branch_pages > pages || tree.leaf_pages > pages ||
      tree.overflow_pages > pages || tree.entries > pages * page_bytes_)
    return "the size of a tree is wrong";
  const bool empty = tree.root == LmdbTree::kNoPage;
  if (empty != (tree.depth == 0) || (!empty && (tree.root < kFirstLmdbPage || tree.root >= pages)))
    return "the root of a tree is wrong";
  return nullptr;
}

// The file may be shorter than its pages only if the missing pages are free.
void LmdbPages::check_length() {
  const uint64_t pages = static_cast<uint64_t>(file_size(file_, folder_.data())) / page_bytes_;
  if (state_.last_page < pages) return;
  Walk walk = new_walk();
  walk_tree({.rules = kFreeRules, .facts = state_.free}, walk);
  for (uint64_t page = pages; page <= state_.last_page; ++page) {
    if (!walk.used[page]) fail(fmt::format("the file ends before page {}", page));
  }
}

bool LmdbPages::turn_to(uint64_t transaction) {
  branches_.clear();
  leaves_.clear();
  read_meta_pages();
  const LmdbMeta& meta = metas_[transaction % 2];
  if (meta.transaction != transaction) return false;
  state_ = meta;
  read_tables();
  return true;
}

void LmdbPages::read_tables() {
  for (Tree& table : tables_) table.facts = {};
  if (state_.main.depth == 0) return;
  if (state_.main.depth > 1) fail("more tables than a cache has");
  const Page page = read_checked(root_of({.rules = kMainRules, .facts = state_.main}));
  if (nodes_of(page) != kTableNames.size()) fail("another number of tables than a cache has");
  for (size_t n = 0; n < kTableNames.size(); ++n) {
    const LmdbNode node = node_of(page, n);
    const std::string_view name(reinterpret_cast<const char*>(node.key.data()), node.key.size());
    if (name != kTableNames[n]) fail("a table with another name");
    Tree& table = tables_[n];
    table.facts = copied_from<LmdbTree>(node.value);
    const uint16_t flags = table.rules.integer_keys ? kIntegerKeys : 0;
    if (const char* problem = problem_of_tree(table.facts, {.flags = flags}))
      fail(fmt::format("table {}: {}", name, problem));
    if (table.facts.depth > 0 && table.facts.root > state_.last_page)
      fail(fmt::format("table {}: the root is beyond the last page", name));
  }
}

std::vector<std::byte> LmdbPages::read_bytes(uint64_t offset, size_t size) const {
  reads_.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::byte> bytes(size);
  const std::optional<size_t> count = pread_up_to(
      file_, {reinterpret_cast<char*>(bytes.data()), size}, static_cast<int64_t>(offset));
  if (!count) throw system_error(kCode, "read", folder_.data(), errno);
  if (*count < size)
    fail(fmt::format("the file ends before page {}", (offset + *count) / page_bytes_));
  return bytes;
}

LmdbPages::Page LmdbPages::read(uint64_t number) const {
  return read_bytes(number * page_bytes_, page_bytes_);
}

LmdbPages::Page LmdbPages::read_checked(const LmdbPageRules& rules) const {
  Page page = read(rules.number);
  if (const char* problem = problem_of(page, rules))
    fail(fmt::format("page {}: {}", rules.number, problem));
  return page;
}

const LmdbPages::Page& LmdbPages::branch(const LmdbPageRules& rules) {
  const auto found = branches_.find(rules.number);
  if (found != branches_.end()) return found->second;
  return branches_.emplace(rules.number, read_checked(rules)).first->second;
}

void LmdbPages::check_page(const LmdbPageRules& rules) {
  if (!rules.leaf) {
    branch(rules);
  } else if (!leaves_.contains(rules.number)) {
    read_checked(rules);
    leaves_.insert(rules.number);
  }
}

LmdbPageRules LmdbPages::root_of(const Tree& tree) const {
  return {.tree = tree.rules,
          .number = tree.facts.root,
          .last_page = state_.last_page,
          .leaf = tree.facts.depth == 1};
}

void LmdbPages::check_path(LmdbTable table, LmdbKey key, Extent extent) {
  if (branches_.size() > kMostKeptBranches) branches_.clear();
  const Tree& tree = tables_[static_cast<size_t>(table)];
  if (tree.facts.depth == 0) return;
  LmdbPageRules rules = root_of(tree);
  for (int levels = tree.facts.depth; levels > 1; --levels) {
    const Page& page = branch(rules);
    const size_t n = child_of(page, tree.rules, key);
    const auto child = [&](size_t i) { return rules_of_child(page, rules, i, levels == 2); };
    if (extent == Extent::kNeighbours) {
      if (n > 0) check_page(child(n - 1));
      if (n + 1 < nodes_of(page)) check_page(child(n + 1));
    }
    rules = child(n);
  }
  check_page(rules);
  if (extent == Extent::kPath || tree.rules.value_bytes) return;
  const Page leaf = read_checked(rules);
  for (size_t n = 0; n < nodes_of(leaf); ++n) {
    const LmdbNode node = node_of(leaf, n);
    if (node.page != LmdbTree::kNoPage && compare_keys(tree.rules, node.key, key) == 0)
      check_overflow(node, tree.rules);
  }
}

uint64_t LmdbPages::check_overflow(const LmdbNode& node, const LmdbTreeRules& rules) const {
  const auto header = copied_from<LmdbPageHeader>(read(node.page));
  const uint64_t least = overflow_pages_of(node.value_bytes, page_bytes_);
  const uint64_t pages = header.overflow_pages();
  // LMDB writes a list of free pages that has become shorter over the old list, and leaves it the
  // pages of the old one. So the value may have more pages than it needs.
  const bool shortened = rules.values == LmdbTreeRules::Values::kFreePages && pages > least &&
                         pages <= state_.last_page - node.page + 1;
  if (header.number != node.page || header.flags != LmdbPageHeader::kOverflow ||
      (pages != least && !shortened))
    fail(fmt::format("page {}: it is not the begin of a long value of {} pages", node.page, least));
  return pages;
}

void LmdbPages::check_free_pages() {
  Walk walk = new_walk();
  walk_tree({.rules = kFreeRules, .facts = state_.free}, walk);
}

void LmdbPages::check_table(LmdbTable table) {
  Walk walk = new_walk();
  walk_tree(tables_[static_cast<size_t>(table)], walk);
}

void LmdbPages::check_all() {
  Walk walk = new_walk();
  walk_tree({.rules = kFreeRules, .facts = state_.free}, walk);
  walk_tree({.rules = kMainRules, .facts = state_.main}, walk);
  for (const Tree& table : tables_) walk_tree(table, walk);
}

void LmdbPages::walk_tree(const Tree& tree, Walk& walk) const {
  walk.found = {};
  if (tree.facts.depth > 0) walk_page(root_of(tree), tree.facts.depth, walk);
  const LmdbTree& found = walk.found;
  if (found.branch_pages != tree.facts.branch_pages || found.leaf_pages != tree.facts.leaf_pages ||
      found.overflow_pages != tree.facts.overflow_pages || found.entries != tree.facts.entries)
    fail("a tree has another number of pages or entries than it says");
}

void LmdbPages::walk_page(const LmdbPageRules& rules, int levels, Walk& walk) const {
  use(rules.number, 1, walk);
  const Page page = read_checked(rules);
  if (rules.leaf) return walk_leaf(page, rules, walk);
  ++walk.found.branch_pages;
  for (size_t n = 0; n < nodes_of(page); ++n)
    walk_page(rules_of_child(page, rules, n, levels == 2), levels - 1, walk);
}

void LmdbPages::walk_leaf(const Page& page, const LmdbPageRules& rules, Walk& walk) const {
  ++walk.found.leaf_pages;
  walk.found.entries += nodes_of(page);
  for (size_t n = 0; n < nodes_of(page); ++n) {
    const LmdbNode node = node_of(page, n);
    if (node.page != LmdbTree::kNoPage) {
      const uint64_t pages = check_overflow(node, rules.tree);
      use(node.page, pages, walk);
      walk.found.overflow_pages += pages;
    }
    if (rules.tree.values == LmdbTreeRules::Values::kFreePages) use_free_pages(node, walk);
  }
}

void LmdbPages::use(uint64_t page, uint64_t pages, Walk& walk) const {
  for (uint64_t end = page + pages; page < end; ++page) {
    if (walk.used[page]) fail(fmt::format("page {} is used twice", page));
    walk.used[page] = true;
  }
}

// The value has the number of pages, and then the pages in descending order.
void LmdbPages::use_free_pages(const LmdbNode& node, Walk& walk) const {
  const std::vector<std::byte> bytes =
      node.page == LmdbTree::kNoPage
          ? std::vector(node.value.begin(), node.value.end())
          : read_bytes(node.page * page_bytes_ + sizeof(LmdbPageHeader), node.value_bytes);
  const size_t most = bytes.size() / sizeof(uint64_t);
  const uint64_t count = most == 0 ? 1 : copied_from<uint64_t>(bytes);
  if (count >= most || copied_from<uint64_t>(node.key) > state_.transaction)
    fail("a list of free pages is wrong");
  uint64_t last = state_.last_page + 1;
  for (uint64_t n = 1; n <= count; ++n) {
    const auto page = copied_from<uint64_t>(bytes, n * sizeof(uint64_t));
    if (page < kFirstLmdbPage || page >= last) fail("a list of free pages is wrong");
    use(page, 1, walk);
    last = page;
  }
}

}  // namespace encode
