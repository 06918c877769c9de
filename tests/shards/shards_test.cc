// Tests runs of shards with the fake worker: whatever happens to an attempt, the merged parts have
// the bytes of one run.
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "shards/sharded.h"
#include "store/matrix/matrix.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Shards, TheMergedRowsAreThoseOfOneRun) {
  for (const int64_t shards : {1, 2, 3, 7, 64}) {
    for (const int64_t chunk : {1, 7, 1000}) {
      Sharded experiment;
      experiment.config.store.chunk_size = chunk;
      experiment.encode(shards);
      ASSERT_FALSE(experiment.merge().code);
      EXPECT_EQ(experiment.merged(), undivided()) << shards << " shards, chunks of " << chunk;
      EXPECT_EQ(experiment.list("train_tc").identity.rows, Experiment::kRows);
    }
  }
}

// The texts of the template are those of undivided(), although the file is another one.
TEST(Shards, TextsOfATemplateAreDividedAsOtherTexts) {
  Sharded experiment;
  std::string lines;
  for (int64_t row = 0; row < Experiment::kRows; ++row)
    lines += fmt::format("{{\"name\":\"tc\",\"n\":{}}}\n", row);
  experiment.dir().write("tc.jsonl", lines);
  InputOptions& input = experiment.config.streams[0].input;
  input.field = "";
  input.text_template = "{name} row {n}";
  experiment.encode(3);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
  input.text_template = "{name} row {n}.";
  EXPECT_TRUE(experiment.run_shard(0).code) << "the plan is of another template";
}

TEST(Shards, AnAttemptGoesOnWithTheChunksOfEarlierOnes) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  ASSERT_FALSE(experiment.plan(2).code);
  experiment.config.hardware.max_restarts = 0;
  EXPECT_TRUE(experiment.run_shard(0, "crash:3:9").code);
  EXPECT_TRUE(experiment.run_shard(0, "crash:5:9").code);
  experiment.config.hardware.max_restarts = 5;
  ASSERT_FALSE(experiment.run_shard(0).code);
  EXPECT_THAT(experiment.attempts(0), SizeIs(3));
  EXPECT_EQ(experiment.encoded_chunks(), 16) << "the 8 rows of 2 streams, each once";
  ASSERT_FALSE(experiment.run_shard(1).code);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

TEST(Shards, AShardThatIsEncodedIsNotEncodedAgain) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  EXPECT_THAT(experiment.attempts(0), SizeIs(1));
}

// As if the node had been lost between the last matrix and the record of the part.
TEST(Shards, AnAttemptThatLacksOnlyItsRecordIsNotRepeated) {
  Sharded experiment;
  experiment.config.combine.clear();
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  fs::remove(experiment.cache("shards/00000/part.json"));
  ASSERT_FALSE(experiment.run_shard(0).code);
  EXPECT_THAT(experiment.attempts(0), SizeIs(1));
  EXPECT_TRUE(fs::exists(experiment.cache("shards/00000/part.json")));
}

// A scheduler that has lost a node starts a second attempt while the first one still works.
TEST(Shards, TwoAttemptsAtOnceDoNoHarm) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  ASSERT_FALSE(experiment.plan(1).code);
  const pid_t first = experiment.start(0, 20);
  // The lock is only a warning: without it, both attempts work.
  const std::string lock = experiment.cache("shards/00000/LOCK");
  while (experiment.attempts(0).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(experiment.run_shard(0).code.name(), "store.locked");
  fs::remove(lock);
  ASSERT_FALSE(experiment.run_shard(0).code);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
  const std::string list = read_bytes(experiment.cache("train_tc_embeddings.parts.json"));
  int status = 0;
  ::waitpid(first, &status, 0);
  EXPECT_EQ(status, 0) << "the first attempt has published its part after the merge";
  EXPECT_EQ(experiment.merged(), undivided());
  EXPECT_EQ(read_bytes(experiment.cache("train_tc_embeddings.parts.json")), list);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

// Kills attempts at random moments, until the shard is encoded.
TEST(Shards, AKillAtAnyMomentCostsNoRow) {
  for (int seed = 0; seed < 8; ++seed) {
    Sharded experiment;
    experiment.config.store.chunk_size = 2;
    ASSERT_FALSE(experiment.plan(2).code);
    for (const int64_t shard : {0, 1}) {
      int status = -1;
      for (int attempt = 0; status != 0 && attempt < 30; ++attempt) {
        const pid_t child = experiment.start(shard, 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(5 + 17 * attempt + 3 * seed));
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
      }
      ASSERT_EQ(status, 0);
    }
    ASSERT_FALSE(experiment.merge().code);
    EXPECT_EQ(experiment.merged(), undivided()) << seed;
  }
}

// A kill leaves the marker of a matrix that is being published, and some of its files.
TEST(Shards, AnotherExperimentDoesNotGetThePlan) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  EXPECT_FALSE(experiment.plan(2).code) << "the same plan";
  EXPECT_EQ(experiment.plan(3).code.name(), "shards.foreign");
  experiment.config.streams[0].result.max_length = 8;
  const ErrorDetail other = experiment.run_shard(0);
  EXPECT_EQ(other.code.name(), "shards.foreign");
  EXPECT_THAT(other.found, HasSubstr("max_length '8'"));
}

// A part that was made with another setting must not lie beside the others.
// As a stale view of a network file system may show it.
TEST(Shards, TheScanOfAnotherPlanIsRefused) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(3).code);
  const std::string scan = experiment.cache("shards/00001/scan.json");
  const std::string good = read_bytes(scan);
  write_bytes(scan, read_bytes(experiment.cache("shards/00000/scan.json")));
  EXPECT_EQ(experiment.run_shard(1).exit_code, ExitCode::kData);
  EXPECT_FALSE(experiment.plan(3).code);
  EXPECT_EQ(read_bytes(scan), good) << "the plan repairs its files";
  EXPECT_FALSE(experiment.run_shard(1).code);
}

// Writes the input of the first stream as files with these numbers of rows.
std::vector<std::string> split_input(Sharded& experiment, const std::vector<int64_t>& sizes) {
  InputOptions& input = experiment.config.streams[0].input;
  const std::string whole = read_bytes(input.path);
  std::vector<std::string> paths;
  size_t begin = 0;
  for (const int64_t rows : sizes) {
    size_t end = begin;
    for (int64_t row = 0; row < rows; ++row) end = whole.find('\n', end) + 1;
    paths.push_back(experiment.dir().write(fmt::format("tc-{}.jsonl", paths.size()),
                                           whole.substr(begin, end - begin)));
    begin = end;
  }
  input.path = paths[0];
  input.more_paths.assign(paths.begin() + 1, paths.end());
  return paths;
}

// The first of two shards has 8 rows.
TEST(Shards, AMergedMatrixNamesAlsoTheEmptyFiles) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{0, 8, 0, 9, 0}, {0, 0, 8, 0, 0, 9}, {3, 0, 5, 9, 0}, {17}}) {
    Sharded experiment;
    const std::vector<std::string> paths = split_input(experiment, sizes);
    experiment.encode(2);
    ASSERT_FALSE(experiment.merge().code);
    const auto matrix = open_matrix(experiment.cache("train_tc_embeddings.parts.json"));
    std::vector<std::string> named;
    for (const InputPart& file : matrix->manifest().identity.inputs) named.push_back(file.path);
    EXPECT_EQ(named, paths);
  }
}

TEST(Shards, AnInputMayHaveSeveralFiles) {
  Sharded experiment;
  split_input(experiment, {3, 0, 9, 5});
  experiment.encode(5);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
  EXPECT_EQ(verified(experiment.cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
}

TEST(Shards, AStreamThatAnEarlierAttemptHasFinishedIsNotEncodedAgain) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  experiment.config.hardware.max_restarts = 0;
  ASSERT_FALSE(experiment.plan(1).code);
  // The second time that a worker begins chunk 5 is in the second stream.
  EXPECT_TRUE(experiment.run_shard(0, "second:5:9").code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  EXPECT_EQ(experiment.encoded_chunks(), 2 * Experiment::kRows);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

TEST(Shards, ARowThatChangedAfterThePlanIsAnError) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  experiment.write_input("tc", Experiment::kRows, "other");
  EXPECT_EQ(experiment.run_shard(0).code.name(), "text.changed");
}

TEST(Shards, WhatCannotBeDividedIsRefused) {
  const auto refusal = [](const std::function<void(RunConfig&)>& change) {
    Sharded experiment;
    change(experiment.config);
    return experiment.plan(2);
  };
  for (const ErrorDetail& error :
       {refusal([](RunConfig& config) { config.streams[0].input.path = "-"; }),
        refusal([](RunConfig& config) { config.store.save_chunks = false; })})
    EXPECT_EQ(error.code.name(), "shards.config") << error.what;
}

}  // namespace
}  // namespace encode::testing
