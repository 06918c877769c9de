// Tests how the rows of streams are divided into shards, and that a part of a scan gives the rows
// of the whole input.
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/text.h"

#include "base/refused.h"
#include "run_plan/shard_plan.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

class Divide : public ::testing::Test {
 protected:
  // Returns the plan of a stream of a file, without a model.
  static StreamPlan stream_of(const InputOptions& input, const std::string& name = "a") {
    StreamPlan stream;
    stream.config.stream = name;
    stream.config.input = input;
    stream.scan = scan_texts(input, {});
    stream.identity = {.name = name,
                       .fingerprint = R"({"input":{"sha256":"x"}})",
                       .rows = stream.scan.rows,
                       .dim = 4};
    return stream;
  }
  // Writes a file of `rows` lines and returns its options. A tenth of the lines is rejected.
  InputOptions lines(int64_t rows, const std::string& name = "texts.jsonl") const {
    std::string text;
    std::mt19937 random(7);  // NOLINT(cert-msc32-c, cert-msc51-cpp): the same rows in every run
    for (int64_t row = 0; row < rows; ++row) {
      if (random() % 10 == 0) text += "not JSON\n";
      text +=
          fmt::format("{{\"t\":\"{} row {}{}\"}}\n", name, row, std::string(random() % 90, 'x'));
    }
    InputOptions input;
    input.path = dir_.write(name, text);
    input.field = "t";
    input.bad_row = BadRowPolicy::kReject;
    return input;
  }
  // Returns the rows that a run of a shard reads.
  static std::vector<std::string> read(const InputOptions& input, const InputScan& scan,
                                       RowRange rows) {
    const auto reader = open_scanned_texts(input, scan);
    reader->seek(rows.begin);
    std::vector<std::string> texts;
    for (Text text; std::ssize(texts) < rows.size() && reader->next(text);) {
      EXPECT_EQ(text.row, rows.begin + std::ssize(texts));
      texts.push_back(text.place() + " " + text.utf8);
    }
    return texts;
  }

  TempDir dir_;
};

TEST_F(Divide, EveryRowIsInOneShardAndReadsAsInTheWholeInput) {
  InputOptions input = lines(4321);
  input.more_paths = {lines(0, "none.jsonl").path, lines(2987, "more.jsonl").path};
  const StreamPlan stream = stream_of(input);
  ASSERT_EQ(stream.scan.rows, 4321 + 2987);
  const std::vector<std::string> whole = read(input, stream.scan, {0, stream.scan.rows});
  for (const int64_t shards : {1, 2, 3, 7, 64, 10'000}) {
    const ShardPlan plan = divide({stream}, shards);
    ASSERT_EQ(std::ssize(plan.streams[0].shards), shards);
    int64_t next = 0;
    for (const ShardRows& shard : plan.streams[0].shards) {
      EXPECT_EQ(shard.rows.begin, next);
      next = shard.rows.end;
      EXPECT_LE(shard.rows.size(), stream.scan.rows / shards + 1 + stream.scan.rows / shards / 20);
      if (shards > 64) continue;
      const InputScan part = scan_of_rows(stream.scan, shard.rows);
      const std::vector<std::string> expected(whole.begin() + shard.rows.begin,
                                              whole.begin() + shard.rows.end);
      EXPECT_EQ(read(input, part, shard.rows), expected) << shards;
    }
    EXPECT_EQ(next, stream.scan.rows);
  }
}

// A shard reads whole blocks, so its border lies between two of them if it has many.
TEST_F(Divide, ALargeShardBeginsWithABlock) {
  const StreamPlan stream = stream_of(lines(100'000));
  const ShardPlan large = divide({stream}, 2);
  for (const ShardRows& shard : large.streams[0].shards)
    EXPECT_EQ(shard.rows.begin % InputScan::kBlockRows, 0);
  const ShardPlan small = divide({stream}, 64);
  EXPECT_EQ(small.streams[0].shards[1].rows.begin, 100'000 / 64) << "the control";
}

TEST_F(Divide, OnlyTheRowsOfAShardChangeItsIdentity) {
  const ShardPlan before = divide({stream_of(lines(5000))}, 5);
  std::string text = read_bytes(dir_.file("texts.jsonl"));
  text.replace(text.find(" row 4999"), 9, " row four");
  write_bytes(dir_.file("texts.jsonl"), text);
  StreamPlan changed = stream_of(lines(0));
  changed = stream_of(
      {.path = dir_.write("texts.jsonl", text), .field = "t", .bad_row = BadRowPolicy::kReject});
  const ShardPlan after = divide({changed}, 5);
  for (int64_t shard = 0; shard < 5; ++shard) {
    EXPECT_EQ(before.identity(0, shard).fingerprint == after.identity(0, shard).fingerprint,
              shard < 4)
        << shard;
  }
}

TEST_F(Divide, StreamsOfASplitAreDividedAlike) {
  const StreamPlan a = stream_of(lines(9000, "a.jsonl"), "a");
  const StreamPlan b = stream_of(lines(9000, "b.jsonl"), "b");
  const ShardPlan plan = divide({a, b}, 4);
  for (size_t shard = 0; shard < 4; ++shard)
    EXPECT_EQ(plan.streams[0].shards[shard].rows, plan.streams[1].shards[shard].rows);
}

TEST_F(Divide, ThePlanOnDiskIsTheOneThatWasWritten) {
  const std::vector<StreamPlan> streams = {stream_of(lines(3000, "a.jsonl"), "a"),
                                           stream_of(lines(50, "b.jsonl"), "b")};
  const ShardPlan plan = divide(streams, 3);
  write_shard_plan(dir_.path(), plan, streams);
  const ShardPlan found = read_shard_plan(dir_.path());
  ASSERT_EQ(found.streams.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        std::ranges::equal(found.streams[i].shards, plan.streams[i].shards,
                           [](const ShardRows& a, const ShardRows& b) { return a.same_rows(b); }));
    EXPECT_EQ(found.streams[i].identity.fingerprint, plan.streams[i].identity.fingerprint);
    EXPECT_EQ(found.streams[i].scan.files, streams[i].scan.files);
    for (int64_t shard = 0; shard < 3; ++shard) {
      const Shard read = read_shard(dir_.path(), shard);
      const InputScan part =
          scan_of_rows(streams[i].scan, plan.streams[i].shards[static_cast<size_t>(shard)].rows);
      EXPECT_EQ(read.scans[i].checkpoints, part.checkpoints);
      EXPECT_EQ(read.scans[i].end_row, part.end_row);
    }
  }
}

TEST_F(Divide, ADamagedPlanIsAnErrorAndAMissingOneSaysWhatToDo) {
  EXPECT_EQ(refused([&] { read_shard_plan(dir_.path()); }).code.name(), "shards.missing");
  const std::vector<StreamPlan> streams = {stream_of(lines(100))};
  write_shard_plan(dir_.path(), divide(streams, 2), streams);
  EXPECT_EQ(refused([&] { read_shard(dir_.path(), 2); }).code.name(), "shards.number");
  const ShardFiles files(dir_.path());
  for (const std::string& path : {files.plan(), files.scan(1)}) {
    const std::string good = read_bytes(path);
    for (size_t i = 0; i < good.size(); i += 7) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      write_bytes(path, bad);
      EXPECT_EQ(refused([&] { read_shard(dir_.path(), 1); }).code.name(), "store.damaged") << i;
    }
    write_bytes(path, good.substr(0, good.size() - 1));
    EXPECT_EQ(refused([&] { read_shard(dir_.path(), 1); }).code.name(), "store.damaged");
    write_bytes(path, good);
  }
  EXPECT_EQ(read_shard(dir_.path(), 1).index, 1) << "the control";
}

}  // namespace
}  // namespace encode::testing
