// Tests that the tokens do not change if a text is cut between characters that no merge joins.
#include "tokenizer/models/merge_borders.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/models/bpe_merger.h"

namespace encode {
namespace {

using Ids = std::vector<int32_t>;
const std::string kSpace = "\xE2\x96\x81";

struct Merges {
  Vocabulary vocabulary;
  std::vector<BpeMerge> merges;
  std::vector<std::string> spelled;  // the spelling of each id

  int32_t add(const std::string& token) {
    if (vocabulary.add(token, static_cast<int32_t>(spelled.size()))) spelled.push_back(token);
    return vocabulary.find(token);
  }
  void merge(int32_t left, int32_t right) {
    const std::string merged =
        spelled[static_cast<size_t>(left)] + spelled[static_cast<size_t>(right)];
    merges.push_back({left, right, add(merged)});
  }
};

const std::vector<std::string> kAlphabet = {"a", "b", "c", kSpace, "\xC3\xA9", "."};

Merges random_merges(size_t count, std::mt19937& random) {
  Merges result;
  for (const std::string& letter : kAlphabet) result.add(letter);
  while (result.merges.size() < count) {
    const auto pick = [&] { return static_cast<int32_t>(random() % result.spelled.size()); };
    result.merge(pick(), pick());
  }
  return result;
}

BpeOptions unknown_is(int32_t id, bool fuse = false) {
  BpeOptions options;
  options.unk_id = id;
  options.fuse_unk = fuse;
  return options;
}

Ids through_model(const Merges& merges, const std::string& text, const BpeOptions& options) {
  const auto model = make_bpe(merges.vocabulary, merges.merges, options);
  const auto scratch = model->make_scratch();
  Ids ids(text.size() + TokenizerModel::kSlackIds);
  const std::vector<Piece> pieces = {{0, static_cast<uint32_t>(text.size())}};
  ids.resize(static_cast<size_t>(model->tokenize(text, pieces, *scratch, ids.data()) - ids.data()));
  return ids;
}

Ids without_cuts(const Merges& merges, const Ids& symbols) {
  const PairTable pairs(merges.merges);
  BpeMerger merger(pairs);
  Ids ids(symbols.size());
  ids.resize(static_cast<size_t>(merger.merge(symbols, ids.data()) - ids.data()));
  return ids;
}

TEST(MergeBordersTest, CutsChangeNoToken) {
  std::mt19937 random(11);
  size_t cuts = 0;
  for (int round = 0; round < 200; ++round) {
    const Merges merges = random_merges(1 + random() % 12, random);
    const MergeBorders borders(merges.vocabulary, merges.merges, {});
    std::string text;
    Ids symbols;
    for (size_t i = 0; i < 60; ++i) {
      symbols.push_back(static_cast<int32_t>(random() % kAlphabet.size()));
      text += kAlphabet[static_cast<size_t>(symbols.back())];
    }
    cuts += borders.first_part(text) < text.size() ? 1 : 0;
    Merges with_unknown = merges;
    const BpeOptions options = unknown_is(with_unknown.add("<unk>"));
    ASSERT_EQ(through_model(with_unknown, text, options), without_cuts(merges, symbols))
        << "round " << round;
  }
  EXPECT_GT(cuts, 50U);
}

// The expected tokens come from tokenize_ranged(), which does not cut the text.
TEST(MergeBordersTest, CutsChangeNoTokenWhereCharactersAreUnknown) {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    const Merges merges = random_merges(1 + random() % 12, random);
    std::string text;
    for (size_t i = 0; i < 60; ++i) text += kAlphabet[random() % kAlphabet.size()];
    Merges fewer;  // knows only half of the alphabet
    for (size_t i = 0; i < kAlphabet.size(); ++i)
      fewer.add((round + i) % 2 == 0 ? kAlphabet[i] : fmt::format("none{}", i));
    for (const BpeMerge& merge : merges.merges) fewer.merge(merge.left, merge.right);
    // Sometimes uses token 0 as the unknown token. This is unusual, because token 0 has merges.
    const int32_t unknown = round % 4 == 0 ? 0 : fewer.add("<unk>");
    for (const BpeOptions& options :
         {unknown_is(-1), unknown_is(unknown), unknown_is(unknown, true)}) {
      const auto model = make_bpe(fewer.vocabulary, fewer.merges, options);
      std::vector<RangedToken> tokens;
      model->tokenize_ranged(text, *model->make_scratch(), tokens);
      ASSERT_TRUE(
          std::ranges::equal(through_model(fewer, text, options), tokens, {}, {}, &RangedToken::id))
          << "round " << round << ", unknown " << options.unk_id << options.fuse_unk;
    }
  }
}

TEST(MergeBordersTest, CutsWhereNoMergeJoins) {
  Merges merges;
  const int32_t a = merges.add("a");
  const int32_t space = merges.add(kSpace);
  merges.merge(space, a);
  const MergeBorders borders(merges.vocabulary, merges.merges, {});
  EXPECT_EQ(borders.first_part(kSpace + "a" + kSpace + "a"), 4U);
  EXPECT_EQ(borders.first_part("aa"), 1U);
}

TEST(MergeBordersTest, MergesOfByteTokensAllowNoCut) {
  Merges merges;
  const int32_t a = merges.add("a");
  const int32_t byte = merges.add("<0x61>");
  merges.merge(a, byte);
  const Ids byte_ids = {byte};
  EXPECT_EQ(MergeBorders(merges.vocabulary, merges.merges, byte_ids).first_part("aaa"), 3U);
  EXPECT_EQ(MergeBorders(merges.vocabulary, merges.merges, {}).first_part("aaa"), 1U);
}

TEST(MergeBordersTest, UnknownCharactersStayTogether) {
  Merges merges;
  merges.add("a");
  const MergeBorders borders(merges.vocabulary, merges.merges, {});
  // Unknown characters are not cut, because fuse_unk may have to make them one token.
  EXPECT_EQ(borders.first_part("xyz\xC3\xA9"), 5U);
  EXPECT_EQ(borders.first_part("xa"), 1U);
}

}  // namespace
}  // namespace encode
