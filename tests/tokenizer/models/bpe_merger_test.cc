// Tests that BpeMerger gives the tokens that BPE defines, for any merges and any word.
#include "tokenizer/models/bpe_merger.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu_seconds.h"

namespace encode {
namespace {

using Ids = std::vector<int32_t>;

// The definition of BPE: merges the pair with the lowest rank until no pair can be merged. Of equal
// pairs, it merges the leftmost first.
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

// Returns random merges with distinct pairs. Each merge joins symbols of the alphabet or results of
// other merges. The merges are shuffled, so a merge may have a lower rank than the merges that make
// its symbols.
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

// Adds merges that join two equal runs of `symbol`, which gives runs of 2, 4, 8 and so on up to
// `longest` symbols. Returns the ids of the runs, beginning with `symbol` itself.
std::vector<int32_t> add_doublings(int32_t symbol, int longest, std::vector<BpeMerge>& merges) {
  std::vector<int32_t> runs = {symbol};
  for (int size = 2; size <= longest; size *= 2) {
    const auto next = static_cast<int32_t>(1000 + merges.size());
    merges.push_back({runs.back(), runs.back(), next});
    runs.push_back(next);
  }
  return runs;
}

// Adds a merge of `left` and `right` and returns the id of its result.
int32_t add_merge(int32_t left, int32_t right, std::vector<BpeMerge>& merges) {
  merges.push_back({left, right, static_cast<int32_t>(1000 + merges.size())});
  return merges.back().merged;
}

// Without its last symbol, the word has tokens of 1,025, 510 and 1 symbols. With the last symbol,
// it has none of these tokens. A window of 1,536 symbols gives the first result, and the next
// window contradicts it. Without kMaxWork, BpeMerger would repeat this forever.
TEST(BpeMergerTest, TokensLongerThanAWindowCannotKeepItSearchingForever) {
  enum : int32_t { kA, kP, kQ, kR, kC, kE };
  std::vector<BpeMerge> merges;
  int32_t chain = kE;
  for (int i = 0; i < 511; ++i) chain = add_merge(kC, chain, merges);
  const int32_t end = add_merge(kR, chain, merges);
  std::vector<int32_t> runs = add_doublings(kC, 256, merges);
  for (int32_t all = runs.back(); runs.size() > 2; runs.pop_back())
    all = add_merge(all, runs[runs.size() - 2], merges);
  runs = add_doublings(kA, 512, merges);
  int32_t all = runs.back();
  for (; runs.size() > 2; runs.pop_back()) all = add_merge(all, runs[runs.size() - 2], merges);
  add_merge(all, add_merge(kP, add_merge(kQ, kR, merges), merges), merges);

  Ids symbols(1022, kA);
  symbols.insert(symbols.end(), {kP, kQ, kR});
  symbols.insert(symbols.end(), 511, kC);
  symbols.push_back(kE);
  EXPECT_EQ(merge(merges, symbols), (Ids{all, kP, kQ, end}));
}

TEST(BpeMergerTest, TimeIsLinearInTheLengthOfTheWord) {
  std::vector<BpeMerge> merges;  // each merge joins two equal runs of symbol 0
  for (int32_t i = 0; i < 8; ++i) merges.push_back({i, i, i + 1});
  const auto seconds = [&](size_t size) {
    const double start = testing::cpu_seconds();
    merge(merges, Ids(size, 0));
    return testing::cpu_seconds() - start;
  };
  double best = 1e9;  // the best of several attempts, because other programs disturb the times
  for (int i = 0; i < 5; ++i) best = std::min(best, seconds(1'000'000) / seconds(50'000));
  // The longer word has 20 times the length. A quadratic method takes 400 times as long.
  EXPECT_LT(best, 60);
}

}  // namespace
}  // namespace encode
