// Tests that damage of LMDB's file is found before LMDB uses the file, in bounded time and memory.
// bit_flips_test.cc flips bits in the whole file.
#include "cache/lmdb_pages.h"

#include <cstring>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cache/disk_tier.h"
#include "cache/maintenance.h"
#include "known_rows.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPlaceOfNumber = 0;
constexpr size_t kPlaceOfFlags = 10;
constexpr size_t kPlaceOfLower = 12;
constexpr size_t kPlaceOfUpper = 14;
constexpr size_t kPlaceOfLastPage = 136;  // in a meta page
constexpr uint16_t kBranch = 1;

class DamagedStore : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes))
      GTEST_SKIP() << "the places are those of 4 kB pages";
  }
  DamagedStore() {
    prepare_folder(folder_);
    LmdbStore store(folder_, 100'000'000, LmdbStore::Access::kWrite);
    LmdbStore::Writing writing(store);
    const std::vector<std::byte> block(100);
    for (int64_t row = 0; row < 400; ++row) {
      const uint64_t number = writing.add_block(block);
      writing.set_place(known_key(row), {.block = number, .offset = 0, .bytes = 100});
      writing.set_use(number, 1'700'000'000);
    }
    writing.commit();
  }

  template <typename T>
  T at(size_t place) const {
    T value;
    std::memcpy(&value, bytes_.data() + place, sizeof value);
    return value;
  }
  template <typename T>
  void put(size_t place, T value) {
    std::memcpy(bytes_.data() + place, &value, sizeof value);
  }
  void read() { bytes_ = read_bytes(folder_.data()); }
  void write() const { write_bytes(folder_.data(), bytes_); }
  // The place of the node of a branch page whose key is this number.
  size_t branch_with_key(uint64_t key) const {
    for (size_t page = 2 * kPageBytes; page < bytes_.size(); page += kPageBytes) {
      if (at<uint64_t>(page + kPlaceOfNumber) != page / kPageBytes ||
          at<uint16_t>(page + kPlaceOfFlags) != kBranch)
        continue;
      for (size_t n = page + 16; n < page + at<uint16_t>(page + kPlaceOfLower); n += 2) {
        const size_t node = page + at<uint16_t>(n);
        if (at<uint16_t>(node + 6) == 8 && at<uint64_t>(node + 8) == key) return node;
      }
    }
    ADD_FAILURE() << "no branch with this key";
    return 0;
  }
  // The place of the root page of the table of uses: its branch has the key of the second leaf.
  size_t root_of_uses() const { return branch_with_key(155) / kPageBytes * kPageBytes; }

  void expect_damaged() {
    const std::string dir = folder_.path;
    for (const auto& use : std::vector<std::function<void()>>{[&] { read_cache_content(dir); },
                                                              [&] { audit_cache(dir); },
                                                              [&] { prune_cache(dir, 100'000); }}) {
      const ErrorDetail error = error_of(use);
      EXPECT_EQ(error.code.name(), "cache.damaged");
      EXPECT_EQ(error.exit_code, ExitCode::kData);
      EXPECT_NE(error.hint.find("encode cache clear"), std::string::npos);
    }
  }

  const TempDir dir_;
  const CacheFolder folder_{.path = dir_.file("cache")};
  std::string bytes_;
};

TEST_F(DamagedStore, IsGoodWithoutDamage) {
  EXPECT_EQ(read_cache_content(folder_.path).rows, 400);
  EXPECT_EQ(audit_cache(folder_.path).rows, 400);
  EXPECT_GT(prune_cache(folder_.path, 100'000).deleted_blocks, 0);
}

// 2^52 pages of 4 KiB are 2^64 bytes, and uint64_t 2^64 is 0.
TEST_F(DamagedStore, WithALastPageThatOverflowsIsRefused) {
  read();
  for (const size_t meta : {size_t{0}, kPageBytes}) {
    const size_t place = meta + kPlaceOfLastPage;
    put(place, at<uint64_t>(place) | uint64_t{1} << 52);
  }
  write();
  expect_damaged();
  EXPECT_EQ(error_of([&] { DiskTier(folder_.path, 100'000'000); }).code.name(), "cache.damaged");
}

TEST_F(DamagedStore, WithACircleInTheTableOfUsesIsRefused) {
  read();
  put(branch_with_key(155) + 8, uint64_t{155 ^ 4});
  write();
  expect_damaged();
  LmdbStore store(folder_, 100'000'000, LmdbStore::Access::kWrite);
  EXPECT_EQ(error_of([&] { evict_blocks(store, 0); }).code.name(), "cache.damaged");
}

// If the list of nodes ends before it begins, LMDB computes 4 billion nodes.
TEST_F(DamagedStore, WithAListOfNodesThatEndsBeforeItBeginsIsRefused) {
  read();
  put<uint16_t>(root_of_uses() + kPlaceOfLower, 0);
  write();
  expect_damaged();
}

// LMDB would move entries beyond the page, over other memory of the process.
TEST_F(DamagedStore, WithNodesBeyondThePageIsNotChanged) {
  read();
  put<uint16_t>(root_of_uses() + kPlaceOfUpper, 0xFFF0);
  write();
  LmdbStore store(folder_, 100'000'000, LmdbStore::Access::kWrite);
  LmdbStore::Writing writing(store);
  EXPECT_EQ(error_of([&] { writing.set_use(7, 1'700'000'001); }).code.name(), "cache.damaged");
}

TEST_F(DamagedStore, ThatIsEmptyIsRefusedByCommandsAndFilledByRuns) {
  write_bytes(folder_.data(), "");
  EXPECT_EQ(error_of([&] { read_cache_content(folder_.path); }).code.name(), "cache.damaged");
  EXPECT_EQ(error_of([&] { audit_cache(folder_.path); }).exit_code, ExitCode::kData);
  const EmbeddingCacheOptions options = {
      .dir = folder_.path, .memory_bytes = 0, .disk_bytes = 100'000'000};
  EmbeddingCache cache(options);
  add_rows(cache, 0, 10, 4);
  EXPECT_EQ(ask(cache, 3, 4), Answer::kRight);
}

TEST_F(DamagedStore, OfALengthThatIsNoStoreIsRefused) {
  read();
  const std::string whole = bytes_;
  for (const size_t bytes : {1UL, 100UL, 4096UL, 8191UL, whole.size() - kPageBytes}) {
    bytes_ = whole.substr(0, bytes);
    write();
    expect_damaged();
  }
}

// LMDB does not write free pages at the end of the file, and says so in the comment on mm_last_pg.
TEST_F(DamagedStore, MayLackOnlyFreePagesAtItsEnd) {
  {
    LmdbStore store(folder_, 100'000'000, LmdbStore::Access::kWrite);
    LmdbStore::Writing writing(store);
    writing.set_use(7, 1'700'000'001);  // frees the page that had the old time
    writing.commit();
  }
  read();
  constexpr size_t kPlaceOfTransaction = 144;
  const size_t meta =
      at<uint64_t>(kPlaceOfTransaction) > at<uint64_t>(kPageBytes + kPlaceOfTransaction)
          ? 0
          : kPageBytes;
  const uint64_t behind = at<uint64_t>(meta + kPlaceOfLastPage) + 1;
  put(meta + kPlaceOfLastPage, behind);
  write();
  expect_damaged();
  // The list of the first transaction has the number of the transaction, the count of pages, and
  // the pages, of which the first one has the highest number.
  constexpr size_t kPlaceOfFreeRoot = 80;
  const size_t root = at<uint64_t>(meta + kPlaceOfFreeRoot) * kPageBytes;
  put(root + at<uint16_t>(root + 16) + 24, behind);
  write();
  EXPECT_EQ(read_cache_content(folder_.path).rows, 400);
}

}  // namespace
}  // namespace encode::testing
