// Tests how rows are grouped in windows: large chunks are split, and small chunks share a window.
#include "job/window_producer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "support/error_of.h"
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
    plan_.window.rows = 4096;
    plan_.window.text_bytes = 1 << 20;
    plan_.window.tokens = 12 * kRowTokens;
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

TEST_F(Windows, TheNextOneCanBeSeenAndItsBatchesStayInPlace) {
  write_rows(40);
  WindowProducer producer(unit_, chunks(40, 4), plan_);
  for (int64_t row = 0; row < 36; row += 12) {
    const Window* next = producer.peek();
    while (next == nullptr) next = producer.peek();
    EXPECT_EQ(next->rows().begin, row);
    const PackedBatch* const batches = next->batches.data();
    const auto window = producer.next();
    ASSERT_TRUE(window.has_value());
    EXPECT_EQ(window->batches.data(), batches);
  }
  ASSERT_TRUE(producer.next().has_value());
  EXPECT_FALSE(producer.next().has_value());
  EXPECT_EQ(producer.peek(), nullptr);
}

TEST_F(Windows, ATokenIdThatTheModelDoesNotHaveIsNamedWithItsRow) {
  unit_.input.path = dir_.write("in.jsonl", "{\"t\":[1,2]}\n{}\n{\"t\":[3,4,50]}\n");
  unit_.input.field = "t";
  unit_.input.bad_row = BadRowPolicy::kReject;
  unit_.scan = scan_texts(unit_.input, {});
  unit_.identity.rows = 2;
  plan_.vocab_size = 51;
  EXPECT_EQ(windows(chunks(2, 2)).size(), 1U);
  plan_.vocab_size = 50;
  const ErrorDetail error = error_of([&] { windows(chunks(2, 2)); });
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_EQ(render(error),
            "error[batch.token_id]: a row has a token id that the model does not have\n"
            "  where     " +
                unit_.input.path +
                ":3\n"
                "  expected  0 to 49\n"
                "  found     50 as entry 2\n"
                "  hint      make the ids with the tokenizer of this model, or drop the row");
}

TEST_F(Windows, AnErrorOfTheTokenizerNamesTheRow) {
  const std::string tokenizer_file = dir_.write(
      "tokenizer.json",
      R"({"model":{"type":"WordLevel","vocab":{"?":60},"unk_token":"?"},"pre_tokenizer":{"type":)"
      R"("Split","pattern":{"Regex":"(?:a+)+[bc]"},"behavior":"Isolated","invert":false}})");
  const auto tokenizer = load_tokenizer(tokenizer_file);
  unit_.input.path = dir_.write("in.txt", "x\ny\n" + std::string(200, 'a') + "\n");
  unit_.scan = scan_texts(unit_.input, {});
  unit_.identity.rows = 3;
  plan_.tokenizer = tokenizer.get();
  ErrorDetail error = error_of([&] { windows(chunks(3, 3)); });
  EXPECT_EQ(error.code.name(), "tokenizer.regex");
  EXPECT_EQ(error.where, unit_.input.path + ":3");
  EXPECT_EQ(error.expected, "(?:a+)+[bc]");
  plan_.vocab_size = 60;
  error = error_of([&] { windows(chunks(2, 2)); });
  EXPECT_EQ(render(error),
            "error[batch.token_id]: the tokenizer gives a token id that the model does not have\n"
            "  where     " +
                unit_.input.path +
                ":1\n"
                "  expected  0 to 59\n"
                "  found     60 as entry 0\n"
                "  hint      use the tokenizer and the weights of the same model");
}

TEST_F(Windows, SmallChunksShareOneUntilItHasEnoughTokens) {
  write_rows(40);
  EXPECT_THAT(chunks_of(windows(chunks(40, 5))),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5), ElementsAre(6, 7)));
}

TEST_F(Windows, EveryRowIsInABatchOnceUnderItsPlaceInTheWindow) {
  write_rows(40);
  int64_t next_row = 0;
  for (const Window& window : windows(chunks(40, 7))) {
    ASSERT_EQ(window.rows().begin, next_row);
    std::vector<int> seen;
    for (const WindowPart& part : window.parts) {
      EXPECT_EQ(part.rows.begin, next_row);
      EXPECT_EQ(part.stats.tokens, part.rows.size() * kRowTokens);
      EXPECT_TRUE(part.opens_chunk() && part.closes_chunk());
      next_row = part.rows.end;
    }
    seen.resize(static_cast<size_t>(next_row - window.rows().begin));
    for (const PackedBatch& batch : window.batches) {
      EXPECT_LE(batch.tokens(), plan_.batch_tokens);
      for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
        ++seen[static_cast<size_t>(batch.sequence_numbers[b])];
        EXPECT_EQ(batch.input_ids[static_cast<size_t>(batch.cu_seqlens[b])],
                  window.rows().begin + batch.sequence_numbers[b]);
      }
    }
    EXPECT_THAT(seen, ::testing::Each(1));
  }
  EXPECT_EQ(next_row, 40);
}

TEST_F(Windows, ALargeChunkTakesSeveralAndItsRestIsSharedWithTheNext) {
  write_rows(40);
  plan_.window.text_bytes = 15 * kRowTokens * 4;
  const std::vector<Window> found = windows(chunks(40, 20));
  EXPECT_THAT(chunks_of(found), ElementsAre(ElementsAre(0), ElementsAre(0, 1), ElementsAre(1)));
  EXPECT_FALSE(found[0].parts[0].closes_chunk());
  EXPECT_FALSE(found[1].parts[0].opens_chunk());
  EXPECT_TRUE(found[1].parts[0].closes_chunk());
  EXPECT_EQ(found[1].parts[1].rows.begin, 20);
}

TEST_F(Windows, HoldSixtyFourChunksAtMost) {
  write_rows(100);
  plan_.window.tokens = 1 << 20;
  const std::vector<Window> found = windows(chunks(100, 1));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].parts.size(), 64U);
  EXPECT_EQ(found[1].parts.size(), 36U);
}

TEST_F(Windows, ARowThatWasSetAsideIsInNoBatchButInItsPart) {
  write_rows(20);
  unit_.set_aside = {{.row = 3, .code = "c", .message = "m"},
                     {.row = 19, .code = "c", .message = ""}};
  int64_t rows = 0;
  std::vector<SetAsideRow> found;
  for (const Window& window : windows(chunks(20, 5))) {
    for (const PackedBatch& batch : window.batches) {
      rows += batch.sequences();
      for (const int64_t row : batch.sequence_numbers) {
        EXPECT_NE(window.rows().begin + row, 3);
        EXPECT_NE(window.rows().begin + row, 19);
      }
    }
    for (const WindowPart& part : window.parts) {
      EXPECT_EQ(part.stats.set_aside_rows, std::ssize(part.set_aside));
      EXPECT_EQ(part.stats.zero_token_rows, 0);
      found.insert(found.end(), part.set_aside.begin(), part.set_aside.end());
    }
  }
  EXPECT_EQ(rows, 18);
  EXPECT_EQ(found, unit_.set_aside);
}

TEST_F(Windows, OnlyTheLastOneIsMarkedAsLast) {
  write_rows(40);
  const std::vector<Window> all = windows(chunks(40, 5));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].last, i + 1 == all.size());
}

TEST_F(Windows, NoneGoesOverACommittedChunk) {
  write_rows(40);
  std::vector<ChunkTask> tasks = chunks(40, 5);
  tasks.erase(tasks.begin() + 2);
  tasks.erase(tasks.begin());
  const std::vector<Window> found = windows(tasks);
  EXPECT_THAT(chunks_of(found),
              ElementsAre(ElementsAre(1), ElementsAre(3, 4, 5), ElementsAre(6, 7)));
  EXPECT_EQ(found[0].rows().begin, 5);
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

// Chunks of other workers are left out, and a window has only chunks that this worker has claimed.
TEST_F(Windows, LeaveOutTheChunksOfOtherWorkers) {
  write_rows(40);
  std::vector<int64_t> claimed;
  const auto claim = [&claimed](const ChunkTask& chunk) {
    if (chunk.index == 1 || chunk.index == 4) return false;
    claimed.push_back(chunk.index);
    return true;
  };
  WindowProducer producer(unit_, TaskQueue(chunks(40, 5), claim, {.most_chunks = 64}), plan_);
  std::vector<Window> found;
  while (auto window = producer.next()) found.push_back(std::move(*window));
  EXPECT_THAT(chunks_of(found),
              ElementsAre(ElementsAre(0), ElementsAre(2, 3), ElementsAre(5, 6, 7)));
  EXPECT_THAT(claimed, ElementsAre(0, 2, 3, 5, 6, 7));
}

// Counts the texts that it tokenizes. A text is one token.
class CountingTokenizer : public Tokenizer {
 public:
  void encode(std::string_view /*utf8*/, const TokenizeOptions& /*options*/,
              TokenizedRows& rows) const override {
    ++texts;
    rows.ids.push_back(7);
    rows.end_row();
  }
  void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                           TokenizedRows& rows,
                           std::vector<TokenOffset>& /*offsets*/) const override {
    encode(utf8, options, rows);
  }
  int64_t vocab_size() const override { return 8; }
  std::string description() const override { return "counting"; }
  std::string token(int32_t /*id*/) const override { return ""; }
  bool is_special(int32_t /*id*/) const override { return false; }

  mutable std::atomic<int> texts = 0;
};

// A host with 100 bytes of memory. Each time when its guard looks at the memory, the clock advances
// by a tenth of a second.
class FakeHost {
 public:
  std::atomic<int64_t> available_bytes = 100;
  PressureGuard guard = PressureGuard(
      85,
      {.read =
           [this] { return HostMemory{.limit_bytes = 100, .available_bytes = available_bytes}; },
       .now = [this] { return PressureGuard::Time(std::chrono::milliseconds(100 * ++looks_)); },
       .on_change = [](bool /*pressed*/, const HostMemory& /*memory*/) {}});

 private:
  std::atomic<int64_t> looks_ = 0;
};

class ShortOfMemory : public Windows {
 protected:
  ShortOfMemory() {
    std::string lines;
    for (int row = 0; row < 400; ++row) lines += "x\n";
    unit_.input.path = dir_.write("in.txt", lines);
    unit_.input.field.clear();
    unit_.scan = scan_texts(unit_.input, {});
    unit_.identity.rows = 400;
    plan_.tokenizer = &tokenizer_;
    plan_.window = {.rows = 64, .text_bytes = 1 << 20, .tokens = 0};
  }

  // Waits until the producer has read this number of rows, and then a little longer, in which it
  // should read no more. Returns the number of rows that it has read.
  int rows_read(int expected) const {
    for (int i = 0; i < 2000 && tokenizer_.texts < expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return tokenizer_.texts;
  }

  CountingTokenizer tokenizer_;
  FakeHost host_;
};

TEST_F(ShortOfMemory, TheProducerReadsOneSmallWindowAhead) {
  host_.available_bytes = 10;
  plan_.guard = &host_.guard;
  WindowProducer producer(unit_, chunks(400, 400), plan_);
  EXPECT_EQ(rows_read(16), 16) << "a quarter of a window";
  EXPECT_EQ(producer.next()->rows().size(), 16);
  EXPECT_LE(rows_read(20), 32);
}

TEST_F(ShortOfMemory, WithoutAGuardTheProducerReadsThreeWindowsAhead) {
  const WindowProducer producer(unit_, chunks(400, 400), plan_);
  EXPECT_EQ(rows_read(192), 192) << "two are queued, one waits for room";
}

TEST_F(ShortOfMemory, WindowsGrowBackAndHaveTheSameRowsInTheSameOrder) {
  host_.available_bytes = 10;
  plan_.guard = &host_.guard;
  WindowProducer producer(unit_, chunks(400, 400), plan_);
  int64_t row = 0;
  int64_t largest = 0;
  while (const auto window = producer.next()) {
    EXPECT_EQ(window->rows().begin, row);
    row = window->rows().end;
    if (row <= 80) {
      EXPECT_LE(window->rows().size(), 16);
    } else {
      host_.available_bytes = 90;
      for (int i = 0; i < 40; ++i) host_.guard.pressed();  // lets the clock advance
    }
    largest = std::max(largest, window->rows().size());
  }
  EXPECT_EQ(row, 400);
  EXPECT_EQ(largest, 64);
}

// The share changes how rows are grouped in windows, but not which rows a chunk has.
TEST_F(Windows, ASmallerShareGivesSmallerWindowsOfTheSameRows) {
  write_rows(40);
  unit_.effective.launch_tokens = 0;
  unit_.identity.dim = 4;
  const BatchPlan batches{.budget_tokens = 20, .batches_at_once = 1};
  ModelDirectory directory;
  size_t fewer = 0;
  for (const double share : {1.0, 0.5, 0.25, 1.0 / 64}) {
    unit_.window_share = share;
    plan_ = plan_tokenizing(unit_, directory, nullptr, batches);
    plan_.batch_tokens = 64;
    const std::vector<Window> all = windows(chunks(40, 1));
    EXPECT_GT(all.size(), fewer) << share;
    fewer = all.size();
    int64_t row = 0;
    for (const Window& window : all) {
      EXPECT_EQ(window.rows().begin, row);
      row = window.parts.back().rows.end;
    }
    EXPECT_EQ(row, 40);
  }
}

}  // namespace
}  // namespace encode::testing
