#include "batching/repack.h"

#include <map>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/tokenizer.h"

#include "batching/pack.h"

namespace encode {
namespace {

// Rows of 0 to 12 tokens. Each token id is the number of its row.
TokenizedRows random_rows(int64_t count) {
  std::mt19937_64 random(3);
  TokenizedRows rows;
  for (int64_t row = 0; row < count; ++row) {
    rows.ids.insert(rows.ids.end(), random() % 13, static_cast<int32_t>(row));
    rows.end_row();
  }
  return rows;
}

// Checks that each sequence is that of its row, and returns how often each row occurs.
std::map<int64_t, int> rows_in(const std::vector<PackedBatch>& batches, const TokenizedRows& rows) {
  std::map<int64_t, int> count;
  for (const PackedBatch& batch : batches) {
    EXPECT_EQ(batch.prompt_tokens, 2);
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const int64_t row = batch.sequence_numbers[b];
      ++count[row];
      const std::vector<int32_t> ids(batch.input_ids.begin() + batch.cu_seqlens[b],
                                     batch.input_ids.begin() + batch.cu_seqlens[b + 1]);
      EXPECT_THAT(ids, ::testing::ElementsAreArray(rows.row(row)));
      EXPECT_EQ(batch.first_vectors[b], row);
      EXPECT_EQ(batch.vectors[b], 1);
      EXPECT_EQ(batch.position_ids[static_cast<size_t>(batch.cu_seqlens[b])], 0);
    }
  }
  return count;
}

TEST(Repack, KeepsTheTypeOfEveryToken) {
  const TokenizedRows rows = random_rows(100);
  std::vector<int32_t> types;
  for (const int32_t id : rows.ids) types.push_back(id % 2);
  const std::vector<PackedBatch> batches = pack({.ids = rows, .type_ids = types}, 64);
  for (const PackedBatch& batch : repack(batches, 32, [](int64_t /*row*/) { return false; })) {
    ASSERT_EQ(batch.type_ids.size(), batch.input_ids.size());
    for (size_t t = 0; t < batch.input_ids.size(); ++t)
      EXPECT_EQ(batch.type_ids[t], batch.input_ids[t] % 2);
  }
}

// Sequence i has i % 3 + 1 vectors, and each one has the span [i, number of the vector).
TEST(Repack, KeepsTheVectorsOfEverySequence) {
  Sequences sequences = {.ids = random_rows(100)};
  sequences.vectors.offsets = {0};
  for (int32_t row = 0; row < 100; ++row) {
    for (int32_t i = 0; i <= row % 3; ++i)
      sequences.vectors.spans.push_back({.begin = row, .end = i});
    sequences.vectors.offsets.push_back(std::ssize(sequences.vectors.spans));
  }
  const auto batches = repack(pack(sequences, 64), 20, [](int64_t row) { return row % 5 == 0; });
  int64_t seen = 0;
  for (const PackedBatch& batch : batches) {
    auto span = batch.spans.begin();
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const int64_t row = batch.sequence_numbers[b];
      EXPECT_EQ(batch.first_vectors[b], sequences.vectors.first(row));
      ASSERT_EQ(batch.vectors[b], row % 3 + 1);
      for (int32_t i = 0; i < batch.vectors[b]; ++i, ++span, ++seen)
        EXPECT_EQ(*span, (TokenSpan{.begin = static_cast<int32_t>(row), .end = i}));
    }
    EXPECT_TRUE(span == batch.spans.end());
  }
  EXPECT_GT(seen, 100);
}

TEST(Repack, KeepsEverySequenceInSmallerBatches) {
  const TokenizedRows rows = random_rows(100);
  const std::vector<PackedBatch> batches = pack({.ids = rows, .prompt_tokens = 2}, 64);
  const auto expected = rows_in(batches, rows);
  for (const int64_t capacity : {32, 12, 1}) {
    const auto smaller = repack(batches, capacity, [](int64_t /*row*/) { return false; });
    EXPECT_EQ(rows_in(smaller, rows), expected);
    for (const PackedBatch& batch : smaller) {
      const int64_t whole = (batch.max_seqlen + capacity - 1) / capacity * capacity;
      EXPECT_LE(batch.tokens(), whole) << "the longest sequence decides the size";
    }
  }
}

TEST(Repack, LeavesRowsOut) {
  const TokenizedRows rows = random_rows(100);
  const std::vector<PackedBatch> batches = pack({.ids = rows, .prompt_tokens = 2}, 64);
  auto expected = rows_in(batches, rows);
  std::erase_if(expected, [](const auto& entry) { return entry.first % 3 == 0; });
  EXPECT_EQ(rows_in(repack(batches, 20, [](int64_t row) { return row % 3 == 0; }), rows), expected);
}

TEST(OneByOne, GivesEachSequenceABatch) {
  const TokenizedRows rows = random_rows(100);
  const std::vector<PackedBatch> batches = pack({.ids = rows, .prompt_tokens = 2}, 64);
  const auto alone = one_by_one(batches, [](int64_t row) { return row == 7; });
  auto expected = rows_in(batches, rows);
  expected.erase(7);
  EXPECT_EQ(rows_in(alone, rows), expected);
  for (const PackedBatch& batch : alone) EXPECT_EQ(batch.sequences(), 1);
}

}  // namespace
}  // namespace encode
