// Tests runs of shards with the fake worker: whatever happens to an attempt, the merged parts have
// the bytes of one run.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/refused.h"
#include "shards/merge.h"
#include "shards/part.h"
#include "shards/plan_shards.h"
#include "shards/run_shard.h"
#include "store/parts_list.h"
#include "store/sealed_json.h"
#include "store/verify/verify.h"
#include "supervisor/experiment.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> kNames = {"train_tc", "train_commit", "train_combined"};

// An experiment of 17 rows in two streams, and the calls of the commands for its shards.
class Sharded : public Experiment {
 public:
  Sharded() {
    config.combine.push_back({.split = "train", .streams = {"tc", "commit"}});
    config.log.progress = false;
  }

  ErrorDetail plan(int64_t shards) {
    return call([&](Terminal& err, Terminal& out) { plan_shards(config, shards, err, out); });
  }
  ErrorDetail run_shard(int64_t shard, const std::string& misdeed = "") {
    if (!misdeed.empty()) ::setenv("FAKE_WORKER", misdeed.c_str(), 1);
    const ErrorDetail error = call([&](Terminal& err, Terminal& out) {
      encode::run_shard({.experiment = config, .index = shard}, environment, err, out);
    });
    ::unsetenv("FAKE_WORKER");
    return error;
  }
  ErrorDetail merge() {
    return call([&](Terminal& err, Terminal& out) { merge_shards(config, err, out); });
  }
  // Starts an attempt in a process of its own, whose worker takes `slow_ms` for a batch.
  pid_t start(int64_t shard, int slow_ms) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::setenv("FAKE_WORKER_SLOW_MS", fmt::to_string(slow_ms).c_str(), 1);
    const ErrorDetail error = run_shard(shard);
    ::_exit(error.code ? static_cast<int>(error.exit_code) : 0);
  }

  // Returns the bytes of the merged matrices of all streams, in the order of kNames.
  std::vector<std::string> merged() const {
    std::vector<std::string> matrices;
    for (const std::string& name : kNames) {
      std::string& rows = matrices.emplace_back();
      for (const PartsList::Entry& part : list(name).parts)
        rows += read_bytes(cache(part.file)).substr(kNpyHeader);
    }
    return matrices;
  }
  PartsList list(const std::string& name) const {
    return read_parts_list(cache(name + "_embeddings.parts.json"));
  }
  std::vector<std::string> attempts(int64_t shard) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache(fmt::format("shards/{:05}", shard)))) {
      if (entry.path().filename().string().starts_with("attempt-"))
        names.push_back(entry.path().string());
    }
    return names;
  }
  // Returns the number of chunks that the workers of all attempts have encoded.
  int64_t encoded_chunks() const {
    int64_t chunks = 0;
    for (const auto& entry : fs::recursive_directory_iterator(cache("shards"))) {
      if (entry.path().filename() != "encoded_chunks") continue;
      const std::string lines = read_bytes(entry.path().string());
      chunks += std::count(lines.begin(), lines.end(), '\n');
    }
    return chunks;
  }

 private:
  static constexpr size_t kNpyHeader = 128;

  template <typename Work>
  ErrorDetail call(const Work& work) const {
    const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Terminal err(null.get());
    Terminal out(null.get());
    try {
      work(err, out);
      return {};
    } catch (const Error& error) {
      return error.detail();
    }
  }
};

// Returns the bytes of the rows of one run, in the order of kNames.
const std::vector<std::string>& undivided() {
  static const std::vector<std::string> matrices = [] {
    Sharded experiment;
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
    std::vector<std::string> rows;
    for (const std::string& name : kNames)
      rows.push_back(read_bytes(experiment.cache(name + "_embeddings.npy")).substr(128));
    return rows;
  }();
  return matrices;
}

TEST(Shards, TheMergedRowsAreThoseOfOneRun) {
  for (const int64_t shards : {1, 2, 3, 7, 64}) {
    for (const int64_t chunk : {1, 7, 1000}) {
      Sharded experiment;
      experiment.config.store.chunk_size = chunk;
      ASSERT_FALSE(experiment.plan(shards).code);
      for (int64_t shard = 0; shard < shards; ++shard)
        ASSERT_FALSE(experiment.run_shard(shard).code) << shard;
      ASSERT_FALSE(experiment.merge().code);
      EXPECT_EQ(experiment.merged(), undivided()) << shards << " shards, chunks of " << chunk;
      EXPECT_EQ(experiment.list("train_tc").identity.rows, Experiment::kRows);
    }
  }
}

TEST(Shards, AMergeNamesTheShardsThatAreNotEncodedYet) {
  Sharded experiment;
  EXPECT_EQ(experiment.merge().code.name(), "shards.missing");
  ASSERT_FALSE(experiment.plan(4).code);
  ASSERT_FALSE(experiment.run_shard(1).code);
  const ErrorDetail error = experiment.merge();
  EXPECT_EQ(error.exit_code, ExitCode::kNoInput);
  EXPECT_EQ(error.found, "no part of 0, 2, 3");
  EXPECT_THAT(error.hint, HasSubstr("--shard 0/4"));
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

TEST(Shards, ADamagedPartIsNotMergedAndItsShardIsEncodedAgain) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  for (const int64_t shard : {0, 1}) ASSERT_FALSE(experiment.run_shard(shard).code);
  const std::string matrix = experiment.attempts(1).front() + "/train_tc_embeddings.npy";
  std::string bytes = read_bytes(matrix);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(matrix, bytes);
  const ErrorDetail error = experiment.merge();
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_THAT(error.hint, HasSubstr("--shard 1/2"));
  EXPECT_EQ(experiment.merge().code.name(), "shards.missing");
  ASSERT_FALSE(experiment.run_shard(1).code);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
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

ExitCode verified(const std::string& list) { return verify_files({list}, {}).exit_code(); }

TEST(Shards, VerifyFindsEveryPartThatIsNotTheOneInTheList) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(3).code);
  for (const int64_t shard : {0, 1, 2}) ASSERT_FALSE(experiment.run_shard(shard).code);
  ASSERT_FALSE(experiment.merge().code);
  const std::string list = experiment.cache("train_tc_embeddings.parts.json");
  const std::string part = experiment.cache("train_tc_embeddings-00001-of-00003.npy");
  const std::string other = experiment.cache("train_tc_embeddings-00002-of-00003.npy");
  const std::vector<std::string> files = {part, manifest_path(part)};
  const auto move_away = [](const std::string& path) { fs::rename(path, path + ".away"); };
  const auto put_back = [](const std::string& path) { fs::rename(path + ".away", path); };
  EXPECT_EQ(verified(list), ExitCode::kOk);

  move_away(part);
  EXPECT_EQ(verified(list), ExitCode::kNoInput);
  put_back(part);

  // Another part, which is whole, in place of this one.
  for (const std::string& file : files) move_away(file);
  fs::copy_file(other, part);
  fs::copy_file(manifest_path(other), manifest_path(part));
  EXPECT_EQ(verified(list), ExitCode::kData);
  for (const std::string& file : files) put_back(file);

  // A list without its last part.
  PartsList shorter = read_parts_list(list);
  shorter.parts.pop_back();
  EXPECT_EQ(refused([&] { write_parts_list(list, shorter); }).code.name(), "store.damaged");
  const std::string good = read_bytes(list);
  write_bytes(list, good.substr(0, good.size() - 2) + "\n");
  EXPECT_EQ(verified(list), ExitCode::kData);
  write_bytes(list, good);
  EXPECT_EQ(verified(list), ExitCode::kOk) << "the control";
}

TEST(Shards, AMergeReplacesNoFileOfOthers) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  const std::string part = experiment.cache("train_tc_embeddings-00000-of-00001.npy");
  write_bytes(part, "of a user");
  EXPECT_EQ(experiment.merge().code.name(), "output.exists");
  EXPECT_EQ(read_bytes(part), "of a user");
}

// A kill leaves the marker of a matrix that is being published, and some of its files.
TEST(Shards, AMergeThatWasInterruptedCanBeRepeated) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(3).code);
  for (const int64_t shard : {0, 1, 2}) ASSERT_FALSE(experiment.run_shard(shard).code);
  ASSERT_FALSE(experiment.merge().code);
  const std::string part = experiment.cache("train_tc_embeddings-00001-of-00003.npy");
  const std::string lost = experiment.cache("train_commit_embeddings-00002-of-00003.npy");
  fs::remove(experiment.cache("train_tc_embeddings.parts.json"));
  fs::remove(manifest_path(part));
  write_bytes(publishing_path(part), seal({{"name", "train_tc"}}) + "\n");
  fs::remove(lost);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
  EXPECT_FALSE(fs::exists(publishing_path(part)));
  EXPECT_EQ(verified(experiment.cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
  EXPECT_EQ(verified(experiment.cache("train_commit_embeddings.parts.json")), ExitCode::kOk);
}

TEST(Shards, AStreamWithoutRowsHasAListWithoutParts) {
  Sharded experiment;
  for (const std::string stream : {"tc", "commit"}) experiment.write_input(stream, 0, stream);
  ASSERT_FALSE(experiment.plan(2).code);
  for (const int64_t shard : {0, 1}) ASSERT_FALSE(experiment.run_shard(shard).code);
  ASSERT_FALSE(experiment.merge().code);
  for (const std::string& name : kNames) {
    EXPECT_THAT(experiment.list(name).parts, IsEmpty());
    EXPECT_EQ(verified(experiment.cache(name + "_embeddings.parts.json")), ExitCode::kOk) << name;
  }
}

TEST(Shards, AConfigWithOtherCombinedMatricesDoesNotGetThePlan) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  experiment.config.combine.clear();
  EXPECT_EQ(experiment.merge().code.name(), "shards.foreign");
  EXPECT_EQ(experiment.run_shard(0).code.name(), "shards.foreign");
  experiment.config.combine.push_back({.split = "train", .streams = {"tc", "commit"}});
  EXPECT_FALSE(experiment.merge().code) << "the part is still there";
}

TEST(Shards, StrictNumericsRefusesPartsOfDifferentDevices) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  ASSERT_FALSE(experiment.run_shard(1, "other_device:-1:9").code);
  experiment.config.hardware.strict_numerics = true;
  const ErrorDetail error = experiment.merge();
  EXPECT_EQ(error.code.name(), "shards.foreign");
  EXPECT_EQ(error.found, "fake and another");
  experiment.config.hardware.strict_numerics = false;
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.list("train_tc").origins.size(), 2U);
}

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
TEST(Shards, ASettingOfThePlanHoldsForEveryRunAndForTheMerge) {
  const std::vector<std::function<void(RunConfig&)>> changes = {
      [](RunConfig& config) { config.store.final_format.type = OutputType::kFloat16; },
      [](RunConfig& config) { config.store.quarantine = QuarantinePolicy::kDrop; },
      [](RunConfig& config) { config.streams[0].result.pooling = PoolingMode::kCls; },
      [](RunConfig& config) { config.streams[1].input.limit_rows = 10; },
      [](RunConfig& config) {
        config.combine[0].streams = {"commit", "tc"};
      },
      [](RunConfig& config) { std::swap(config.streams[0].input, config.streams[1].input); },
      [](RunConfig& config) { config.store.output = "elsewhere.npy"; }};
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  const RunConfig planned = experiment.config;
  for (const auto& change : changes) {
    change(experiment.config);
    EXPECT_EQ(experiment.run_shard(0).code.name(), "shards.foreign");
    EXPECT_EQ(experiment.merge().code.name(), "shards.foreign");
    experiment.config = planned;
  }
  EXPECT_FALSE(experiment.merge().code) << "the part is still there";
  experiment.config.store.quarantine = QuarantinePolicy::kDrop;
  EXPECT_FALSE(experiment.plan(1).code) << "the vectors are the same";
  EXPECT_EQ(experiment.merge().code.name(), "shards.missing");
}

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

TEST(Shards, AnInputMayHaveSeveralFiles) {
  Sharded experiment;
  const std::string whole = read_bytes(experiment.config.streams[0].input.path);
  std::vector<std::string> paths;
  size_t begin = 0;
  for (const int64_t rows : {3, 0, 9, 5}) {
    size_t end = begin;
    for (int64_t row = 0; row < rows; ++row) end = whole.find('\n', end) + 1;
    paths.push_back(experiment.dir().write(fmt::format("tc-{}.jsonl", paths.size()),
                                           whole.substr(begin, end - begin)));
    begin = end;
  }
  InputOptions& input = experiment.config.streams[0].input;
  input.path = paths[0];
  input.more_paths.assign(paths.begin() + 1, paths.end());
  ASSERT_FALSE(experiment.plan(5).code);
  for (int64_t shard = 0; shard < 5; ++shard) ASSERT_FALSE(experiment.run_shard(shard).code);
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

TEST(Shards, TheChunksGoWhenThePartIsPublished) {
  for (const bool keep : {false, true}) {
    Sharded experiment;
    experiment.config.store.keep_chunk_cache = keep;
    ASSERT_FALSE(experiment.plan(1).code);
    ASSERT_FALSE(experiment.run_shard(0).code);
    EXPECT_EQ(fs::exists(experiment.attempts(0).front() + "/train_tc_chunks"), keep);
  }
}

TEST(Shards, AMergeThatIsRefusedLeavesTheEarlierResult) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  for (const int64_t shard : {0, 1}) ASSERT_FALSE(experiment.run_shard(shard).code);
  ASSERT_FALSE(experiment.merge().code);
  const std::string list = experiment.cache("train_commit_embeddings.parts.json");
  const std::string good = read_bytes(list);
  write_bytes(list, "of a user");
  EXPECT_EQ(experiment.merge().code.name(), "output.exists");
  EXPECT_EQ(read_bytes(list), "of a user");
  write_bytes(list, good);
  for (const std::string& name : kNames)
    EXPECT_EQ(verified(experiment.cache(name + "_embeddings.parts.json")), ExitCode::kOk) << name;
}

TEST(Shards, RowsThatWereAddedAfterThePlanAreNotEncoded) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  for (const std::string stream : {"tc", "commit"})
    experiment.write_input(stream, Experiment::kRows + 5, stream);
  for (const int64_t shard : {0, 1}) ASSERT_FALSE(experiment.run_shard(shard).code);
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
        refusal([](RunConfig& config) { config.store.save_chunks = false; }),
        refusal([](RunConfig& config) { config.store.final_format.type = OutputType::kInt8; })})
    EXPECT_EQ(error.code.name(), "shards.config") << error.what;
}

}  // namespace
}  // namespace encode::testing
