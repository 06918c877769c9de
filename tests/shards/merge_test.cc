// Tests which parts a merge publishes, and that it changes nothing if it is refused.
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"
#include "shards/sharded.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(Shards, ADamagedPartIsNotMergedAndItsShardIsEncodedAgain) {
  Sharded experiment;
  experiment.encode(2);
  experiment.damage_part(1);
  const ErrorDetail error = experiment.merge();
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_THAT(error.hint, HasSubstr("--shard 1/2"));
  EXPECT_EQ(experiment.merge().code.name(), "shards.missing");
  ASSERT_FALSE(experiment.run_shard(1).code);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

TEST(Shards, VerifyFindsEveryPartThatIsNotTheOneInTheList) {
  Sharded experiment;
  experiment.encode(3);
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

TEST(Shards, AMergeThatWasInterruptedCanBeRepeated) {
  Sharded experiment;
  experiment.encode(3);
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
  experiment.encode(2);
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
  experiment.encode(2);
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

}  // namespace
}  // namespace encode::testing
