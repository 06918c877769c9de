// Tests how rows are grouped in windows: large chunks are split, and small chunks share a window.
#include "job/window_producer.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/text.h"

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kRowTokens = 10;

// Makes rows of `kRowTokens` token ids. Each id is the number of the row.
class Windows : public ::testing::Test {
 protected:
  Windows() {
    plan_.batch_tokens = 64;
    plan_.window_text_bytes = 1 << 20;
    plan_.window_tokens = 12 * kRowTokens;
  }

  void write_rows(int64_t rows) {
    std::string lines;
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<int64_t> ids(kRowTokens, row);
      lines += fmt::format("{{\"t\":[{}]}}\n", fmt::join(ids, ","));
    }
    unit_.input.path = dir_.write("rows.jsonl", lines);
    unit_.input.field = "t";
    unit_.scan = scan_texts(unit_.input, {});
    unit_.identity.rows = rows;
  }

  static std::vector<ChunkTask> chunks(int64_t rows, int64_t chunk_rows) {
    std::vector<ChunkTask> tasks;
    for (int64_t begin = 0; begin < rows; begin += chunk_rows) {
      tasks.push_back({.index = static_cast<int64_t>(tasks.size()),
                       .rows = {begin, std::min(rows, begin + chunk_rows)}});
    }
    return tasks;
  }

  std::vector<Window> windows(std::vector<ChunkTask> tasks) const {
    WindowProducer producer(unit_, std::move(tasks), plan_);
    std::vector<Window> windows;
    while (auto window = producer.next()) windows.push_back(std::move(*window));
    return windows;
  }

  // Returns the chunk numbers of each window, for example {{0, 1, 2}, {3}}.
  static std::vector<std::vector<int64_t>> chunks_of(const std::vector<Window>& windows) {
    std::vector<std::vector<int64_t>> all;
    for (const Window& window : windows) {
      all.emplace_back();
      for (const WindowPart& part : window.parts) all.back().push_back(part.chunk.index);
    }
    return all;
  }

  TempDir dir_;
  JobUnit unit_;
  TokenizePlan plan_;
};

TEST_F(Windows, SmallChunksShareOneUntilItHasEnoughTokens) {
  write_rows(40);
  EXPECT_THAT(chunks_of(windows(chunks(40, 5))),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5), ElementsAre(6, 7)));
}

TEST_F(Windows, EveryRowIsInABatchOnceUnderItsPlaceInTheWindow) {
  write_rows(40);
  int64_t next_row = 0;
  for (const Window& window : windows(chunks(40, 7))) {
    ASSERT_EQ(window.first_row(), next_row);
    std::vector<int> seen;
    for (const WindowPart& part : window.parts) {
      EXPECT_EQ(part.rows.begin, next_row);
      EXPECT_EQ(part.stats.tokens, part.rows.size() * kRowTokens);
      EXPECT_TRUE(part.opens_chunk() && part.closes_chunk());
      next_row = part.rows.end;
    }
    seen.resize(static_cast<size_t>(next_row - window.first_row()));
    for (const PackedBatch& batch : window.batches) {
      EXPECT_LE(batch.tokens(), plan_.batch_tokens);
      for (size_t b = 0; b < batch.rows.size(); ++b) {
        ++seen[static_cast<size_t>(batch.rows[b])];
        EXPECT_EQ(batch.input_ids[static_cast<size_t>(batch.cu_seqlens[b])],
                  window.first_row() + batch.rows[b]);
      }
    }
    EXPECT_THAT(seen, ::testing::Each(1));
  }
  EXPECT_EQ(next_row, 40);
}

TEST_F(Windows, ALargeChunkTakesSeveralAndItsRestIsSharedWithTheNext) {
  write_rows(40);
  plan_.window_text_bytes = 15 * kRowTokens * 4;
  const std::vector<Window> found = windows(chunks(40, 20));
  EXPECT_THAT(chunks_of(found), ElementsAre(ElementsAre(0), ElementsAre(0, 1), ElementsAre(1)));
  EXPECT_FALSE(found[0].parts[0].closes_chunk());
  EXPECT_FALSE(found[1].parts[0].opens_chunk());
  EXPECT_TRUE(found[1].parts[0].closes_chunk());
  EXPECT_EQ(found[1].parts[1].rows.begin, 20);
}

TEST_F(Windows, HoldSixtyFourChunksAtMost) {
  write_rows(100);
  plan_.window_tokens = 1 << 20;
  const std::vector<Window> found = windows(chunks(100, 1));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].parts.size(), 64U);
  EXPECT_EQ(found[1].parts.size(), 36U);
}

TEST_F(Windows, ChunksBelowOneThatFailedAreAlone) {
  write_rows(40);
  unit_.alone_below = 3;
  EXPECT_THAT(chunks_of(windows(chunks(40, 5))),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3, 4, 5),
                          ElementsAre(6, 7)));
}

TEST_F(Windows, NoneGoesOverACommittedChunk) {
  write_rows(40);
  std::vector<ChunkTask> tasks = chunks(40, 5);
  tasks.erase(tasks.begin() + 2);
  tasks.erase(tasks.begin());
  const std::vector<Window> found = windows(tasks);
  EXPECT_THAT(chunks_of(found),
              ElementsAre(ElementsAre(1), ElementsAre(3, 4, 5), ElementsAre(6, 7)));
  EXPECT_EQ(found[0].first_row(), 5);
  EXPECT_EQ(found[1].batches[0].input_ids[0], 15);
}

TEST_F(Windows, AChunkWithoutRowsGivesNone) {
  write_rows(0);
  EXPECT_TRUE(windows({{.index = 0, .rows = {0, 0}}}).empty());
}

TEST_F(Windows, AnInputThatGotShorterIsAnError) {
  write_rows(10);
  unit_.identity.rows = 20;
  EXPECT_THROW(windows(chunks(20, 5)), Error);
}

}  // namespace
}  // namespace encode::testing
