// Flips a share of the bits of a small store; tests/soak/cache_flips.py flips all of them.
#include "bit_flips.h"

#include <filesystem>
#include <fmt/ranges.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// Returns a folder in memory if the system has one, because each flip writes the store.
std::string folder(const TempDir& dir) {
  const std::string memory = "/dev/shm";
  return std::filesystem::is_directory(memory)
             ? memory + "/" + std::filesystem::path(dir.path()).filename().string()
             : dir.file("cache");
}

class BitFlips : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::sysconf(_SC_PAGESIZE) != 4096) GTEST_SKIP() << "the bits are those of pages of 4 kB";
  }
  ~BitFlips() override { std::filesystem::remove_all(folder(dir_)); }

  // Flips each `step`-th of the bits.
  FlipCounts flip(const std::vector<int64_t>& bits, size_t step) const {
    std::vector<int64_t> some;
    for (size_t n = 0; n < bits.size(); n += step) some.push_back(bits[n]);
    FlipCounts counts = store_.flip(some);
    EXPECT_EQ(counts.flips, std::ssize(some));
    EXPECT_TRUE(counts.failures.empty()) << fmt::format("{}", fmt::join(counts.failures, "\n"));
    return counts;
  }

  const TempDir dir_;
  const FlipStore store_{folder(dir_)};
};

// The step is odd, so that every bit of a byte is flipped somewhere.
TEST_F(BitFlips, OfHeadersAreFound) { EXPECT_GT(flip(store_.bits_of_headers(), 61).damaged, 50); }

TEST_F(BitFlips, OfBranchesAreFound) { EXPECT_GT(flip(store_.bits_of_branches(), 61).damaged, 20); }

TEST_F(BitFlips, AnywhereCostOnlyTheCache) {
  std::vector<int64_t> bits;
  for (int64_t bit = 41; bit < store_.bits(); bit += 89) bits.push_back(bit);
  EXPECT_GT(flip(bits, 101).damaged, 20);
}

}  // namespace
}  // namespace encode::testing
