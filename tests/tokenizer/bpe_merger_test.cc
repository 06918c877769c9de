// Whatever the merges and the word, BpeMerger gives what the definition of BPE gives.
#include "tokenizer/bpe_merger.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu_seconds.h"

namespace encode {
namespace {

using Ids = std::vector<int32_t>;

// By definition: again and again the pair of lowest rank, the leftmost of these, until no pair can
// be merged.
Ids merge_by_definition(const std::vector<BpeMerge>& merges, Ids symbols) {
  for (;;) {
    size_t best_rank = merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].left == symbols[i] && merges[rank].right == symbols[i + 1]) {
          best_rank = rank;
          best = i;
        }
      }
    }
    if (best_rank == merges.size()) return symbols;
    symbols[best] = merges[best_rank].merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

Ids merge(const std::vector<BpeMerge>& merges, const Ids& symbols) {
  const PairTable pairs(merges);
  BpeMerger merger(pairs);
  Ids out(symbols.size() + 1);
  out.resize(static_cast<size_t>(merger.merge(symbols, out.data()) - out.data()));
  return out;
}

// Merges of distinct pairs of the symbols so far, in an order that need not be the order of
// training.
std::vector<BpeMerge> random_merges(int alphabet, int count, std::mt19937& random) {
  std::vector<BpeMerge> merges;
  int32_t next = alphabet;
  for (int i = 0; i < count; ++i) {
    const auto pick = [&] { return static_cast<int32_t>(random() % static_cast<uint32_t>(next)); };
    BpeMerge merge{pick(), pick(), next};
    bool known = false;
    for (const BpeMerge& other : merges)
      known = known || (other.left == merge.left && other.right == merge.right);
    if (!known) {
      merges.push_back(merge);
      ++next;
    }
  }
  std::shuffle(merges.begin(), merges.end(), random);
  return merges;
}

TEST(BpeMergerTest, EqualsTheDefinitionForWordsOfEveryLength) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const int alphabet = 1 + static_cast<int>(random() % 4);
    const auto merges = random_merges(alphabet, 2 + static_cast<int>(random() % 40), random);
    for (const size_t size : {0, 1, 2, 5, 31, 32, 33, 100, 511, 512, 513, 1100}) {
      Ids symbols(size);
      for (int32_t& symbol : symbols)
        symbol = static_cast<int32_t>(random() % static_cast<uint32_t>(alphabet));
      ASSERT_EQ(merge(merges, symbols), merge_by_definition(merges, symbols))
          << "round " << round << " size " << size;
    }
  }
}

TEST(BpeMergerTest, TheLaterOfTwoRanksOfAPairCounts) {
  const std::vector<BpeMerge> merges = {{0, 1, 3}, {1, 2, 4}, {0, 1, 3}};
  EXPECT_EQ(merge(merges, {0, 1, 2}), (Ids{0, 4}));
}

TEST(BpeMergerTest, TimeIsLinearInTheLengthOfTheWord) {
  std::vector<BpeMerge> merges;  // a run of one symbol: aa, aaaa, ..
  for (int32_t i = 0; i < 8; ++i) merges.push_back({i, i, i + 1});
  const auto seconds = [&](size_t size) {
    const double start = testing::cpu_seconds();
    merge(merges, Ids(size, 0));
    return testing::cpu_seconds() - start;
  };
  double best = 1e9;  // of several tries: other programs take time as well
  for (int i = 0; i < 5; ++i) best = std::min(best, seconds(1'000'000) / seconds(50'000));
  EXPECT_LT(best, 60);  // 20 times the length; a quadratic method takes 400 times as long
}

}  // namespace
}  // namespace encode
