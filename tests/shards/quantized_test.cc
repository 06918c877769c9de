// Tests quantized matrices whose ranges come from the rows of all shards.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "shards/merge.h"
#include "shards/sharded.h"
#include "store/matrix/matrix.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kNpyHeader = 128;

std::string bytes_if_there(const std::string& path) {
  return fs::exists(path) ? read_bytes(path) : "";
}

// What a matrix and the files beside it have.
struct Found {
  std::string rows;
  std::string truncated;
  std::string set_aside;
  std::string ranges;

  bool operator==(const Found&) const = default;
  void add(const std::string& path) {
    rows += read_bytes(path).substr(kNpyHeader);
    truncated += bytes_if_there(ledger_path(path));
    set_aside += bytes_if_there(set_aside_path(path));
    ranges = read_bytes(ranges_path(path));
  }
};

class Quantized : public ::testing::Test {
 protected:
  // Row 6 of each stream is cut, and row 7 cannot be encoded.
  Quantized() { ::setenv("FAKE_WORKER_ROW", "6", 1); }
  ~Quantized() override { ::unsetenv("FAKE_WORKER_ROW"); }

  static void configure(RunConfig& config, OutputType type, QuarantinePolicy policy) {
    config.store.final_format.type = type;
    config.store.quarantine = policy;
  }
  static std::vector<Found> undivided(OutputType type, QuarantinePolicy policy) {
    Sharded experiment;
    configure(experiment.config, type, policy);
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
    std::vector<Found> found;
    for (const std::string& name : kNames)
      found.emplace_back().add(experiment.cache(name + "_embeddings.npy"));
    return found;
  }
  static std::vector<Found> merged(const Sharded& experiment) {
    std::vector<Found> found;
    for (const std::string& name : kNames) {
      found.emplace_back();
      for (const PartsList::Entry& part : experiment.list(name).parts)
        found.back().add(experiment.cache(part.file));
    }
    return found;
  }
  static void encode(Sharded& experiment, int64_t shards, OutputType type = OutputType::kInt8) {
    configure(experiment.config, type, QuarantinePolicy::kZeros);
    experiment.encode(shards);
  }
};

TEST_F(Quantized, TheMergedRowsAreThoseOfOneRun) {
  for (const OutputType type : {OutputType::kInt8, OutputType::kUint8}) {
    for (const QuarantinePolicy policy : {QuarantinePolicy::kZeros, QuarantinePolicy::kDrop}) {
      const std::vector<Found> expected = undivided(type, policy);
      for (const int64_t shards : {1, 3, 20}) {
        Sharded experiment;
        configure(experiment.config, type, policy);
        experiment.encode(shards);
        ASSERT_FALSE(experiment.merge().code);
        EXPECT_EQ(merged(experiment), expected) << shards << " shards";
        for (const std::string& name : kNames) {
          const std::string list = experiment.cache(name + "_embeddings.parts.json");
          EXPECT_EQ(verified(list), ExitCode::kOk) << name;
          EXPECT_EQ(open_matrix(list)->type(), type);
        }
      }
    }
  }
}

TEST_F(Quantized, TheRangesOfOneShardWouldGiveOtherRows) {
  Sharded experiment;
  encode(experiment, 3);
  ASSERT_FALSE(experiment.merge().code);
  Sharded alone;
  configure(alone.config, OutputType::kInt8, QuarantinePolicy::kZeros);
  alone.config.streams[0].input.limit_rows = alone.config.streams[1].input.limit_rows =
      experiment.list("train_tc").parts.front().rows.end;
  ASSERT_EQ(alone.run().exit_code, ExitCode::kOk);
  const std::string part = experiment.cache(experiment.list("train_tc").parts.front().file);
  EXPECT_NE(read_bytes(part), read_bytes(alone.tc())) << "the control";
}

TEST_F(Quantized, AMergeKeepsThePartsThatAreRightAndRepairsOthers) {
  Sharded experiment;
  encode(experiment, 3);
  EXPECT_FALSE(is_merged(experiment.config));
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_TRUE(is_merged(experiment.config));
  const std::vector<Found> good = merged(experiment);
  const std::string kept = experiment.cache("train_tc_embeddings-00000-of-00003.npy");
  const std::string damaged = experiment.cache("train_tc_embeddings-00001-of-00003.npy");
  const auto time = fs::last_write_time(kept);
  std::string bytes = read_bytes(damaged);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(damaged, bytes);
  fs::remove(experiment.cache("train_combined_embeddings-00002-of-00003.npy"));
  EXPECT_FALSE(is_merged(experiment.config));
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(merged(experiment), good);
  EXPECT_EQ(fs::last_write_time(kept), time);
  // As if a merge had been killed before it wrote its lists.
  fs::remove(experiment.cache("train_tc_embeddings.parts.json"));
  fs::remove(manifest_path(damaged));
  write_bytes(publishing_path(damaged), seal({{"name", "train_tc"}}) + "\n");
  EXPECT_FALSE(is_merged(experiment.config));
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(merged(experiment), good);
  EXPECT_TRUE(is_merged(experiment.config));
}

TEST_F(Quantized, AnotherPartChangesTheRangesOfAll) {
  Sharded experiment;
  encode(experiment, 3);
  ASSERT_FALSE(experiment.merge().code);
  const std::vector<Found> good = merged(experiment);
  // The attempt that comes later has encoded row 7, so shard 1 has no row of zeros any more.
  ::unsetenv("FAKE_WORKER_ROW");
  fs::remove_all(experiment.cache("shards/00001"));
  ASSERT_FALSE(experiment.plan(3).code);
  ASSERT_FALSE(experiment.run_shard(1).code);
  EXPECT_FALSE(is_merged(experiment.config));
  ASSERT_FALSE(experiment.merge().code);
  const std::vector<Found> now = merged(experiment);
  EXPECT_NE(now[0].ranges, good[0].ranges);
  EXPECT_NE(now[0].rows.substr(0, Experiment::kDim), good[0].rows.substr(0, Experiment::kDim))
      << "the first row is in shard 0";
  EXPECT_EQ(verified(experiment.cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
}

TEST_F(Quantized, ADamagedPartIsNotMergedAndItsShardIsEncodedAgain) {
  Sharded experiment;
  encode(experiment, 2);
  experiment.damage_part(1);
  const ErrorDetail error = experiment.merge();
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_THAT(error.hint, HasSubstr("--shard 1/2"));
  EXPECT_FALSE(fs::exists(experiment.cache("train_tc_embeddings.parts.json")));
  EXPECT_FALSE(fs::exists(experiment.cache("train_tc_embeddings-00000-of-00002.npy")));
  EXPECT_EQ(experiment.merge().code.name(), "shards.missing");
  ASSERT_FALSE(experiment.run_shard(1).code);
  EXPECT_FALSE(experiment.merge().code);
}

TEST_F(Quantized, AnAttemptThatLacksOnlyItsRecordIsNotRepeated) {
  Sharded experiment;
  encode(experiment, 1);
  fs::remove(experiment.cache("shards/00000/part.json"));
  ASSERT_FALSE(experiment.run_shard(0).code);
  EXPECT_THAT(experiment.attempts(0), SizeIs(1)) << "it makes no combined matrix";
}

TEST_F(Quantized, AStreamWithoutRowsHasAListOfItsType) {
  Sharded experiment;
  for (const std::string stream : {"tc", "commit"}) experiment.write_input(stream, 0, stream);
  encode(experiment, 2, OutputType::kUint8);
  ASSERT_FALSE(experiment.merge().code);
  for (const std::string& name : kNames) {
    EXPECT_THAT(experiment.list(name).parts, IsEmpty());
    EXPECT_EQ(experiment.list(name).type, OutputType::kUint8) << name;
  }
  EXPECT_EQ(experiment.list("train_combined").columns, 2 * experiment.list("train_tc").columns);
}

}  // namespace
}  // namespace encode::testing
