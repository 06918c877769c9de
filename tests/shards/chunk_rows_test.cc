// Tests the number of rows in the chunks of shards, which their plan decides.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "run_plan/shard_plan.h"
#include "shards/sharded.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// An experiment whose config gives no number.
class ChunkRows : public ::testing::Test {
 protected:
  ChunkRows() {
    experiment_.config.store.chunk_size = 0;
    experiment_.config.store.keep_chunk_cache = true;
    experiment_.config.hardware.device = parse_device("cpu");
  }

  ShardPlan planned() { return read_shard_plan(experiment_.cache("")); }
  int64_t rows_in_plan() { return planned().streams.front().chunk_rows; }
  // Returns the rows of a chunk of the first attempt at a shard.
  int64_t rows_of_attempt(int64_t shard) {
    const std::string path = experiment_.attempts(shard).front() + "/train_tc_chunks/stream.json";
    const std::string text = read_bytes(path);
    return Json::parse(text)["chunk_rows"];
  }
  // Returns what the log of a new plan for the device says about its chunks.
  static std::string log_for(const char* device, const std::string& gpu = "") {
    Sharded experiment;
    experiment.config.store.chunk_size = kAutoChunkRows;
    experiment.config.hardware.device = parse_device(device);
    experiment.config.streams.front().speed.threads = 1;
    EXPECT_FALSE(experiment.plan(2, gpu).code) << device;
    EXPECT_GT(read_shard_plan(experiment.cache("")).streams.front().chunk_rows, 0);
    return read_bytes(experiment.cache("encode.log"));
  }

  Sharded experiment_;
};

TEST_F(ChunkRows, ThePlanDecidesForEveryShard) {
  ASSERT_FALSE(experiment_.plan(2).code);
  const int64_t rows = rows_in_plan();
  EXPECT_GT(rows, 0);
  for (const int64_t shard : {0, 1}) {
    ASSERT_FALSE(experiment_.run_shard(shard).code);
    EXPECT_EQ(rows_of_attempt(shard), rows);
  }
  ASSERT_FALSE(experiment_.merge().code);
  EXPECT_EQ(experiment_.merged(), undivided());
}

TEST_F(ChunkRows, ANumberInTheConfigCounts) {
  experiment_.config.store.chunk_size = 3;
  ASSERT_FALSE(experiment_.plan(2).code);
  EXPECT_EQ(rows_in_plan(), 0);
  ASSERT_FALSE(experiment_.run_shard(0).code);
  EXPECT_EQ(rows_of_attempt(0), 3);
}

TEST_F(ChunkRows, ANumberForOneRunCountsToo) {
  ASSERT_FALSE(experiment_.plan(2).code);
  experiment_.config.store.chunk_size = 4;
  ASSERT_FALSE(experiment_.run_shard(0).code);
  EXPECT_EQ(rows_of_attempt(0), 4);
}

// The parts name the plan by its checksum.
TEST_F(ChunkRows, TheSamePlanAgainKeepsTheNumberAndTheParts) {
  ASSERT_FALSE(experiment_.plan(2).code);
  const std::string checksum = planned().checksum;
  ASSERT_FALSE(experiment_.run_shard(0).code);
  experiment_.config.hardware.device = parse_device("auto");
  ASSERT_FALSE(experiment_.plan(2, "H100-80GB").code);
  EXPECT_EQ(planned().checksum, checksum);
  ASSERT_FALSE(experiment_.run_shard(1).code);
  EXPECT_FALSE(experiment_.merge().code);
}

TEST_F(ChunkRows, APlanOfAnEarlierVersionStaysAsItIs) {
  ASSERT_FALSE(experiment_.plan(2).code);
  const std::string path = ShardFiles(experiment_.cache("")).plan();
  const std::string text = read_bytes(path);
  Json json = unseal(text.substr(0, text.size() - 1), path);
  for (Json& stream : json["streams"]) stream.erase("chunk_rows");
  write_bytes(path, seal(json) + "\n");
  const std::string checksum = planned().checksum;
  ASSERT_FALSE(experiment_.plan(2).code);
  EXPECT_EQ(planned().checksum, checksum);
  ASSERT_FALSE(experiment_.run_shard(0).code);
  EXPECT_EQ(rows_of_attempt(0), kLeastDefaultChunkRows) << "as a run without shards";
}

// The machine that plans may have other devices than those that encode.
TEST_F(ChunkRows, TheTargetDeviceDecidesAndNotTheMachineThatPlans) {
  EXPECT_THAT(log_for("cpu"), HasSubstr(" tokens on 1 CPU thread"));
  EXPECT_THAT(log_for("cuda"), Not(HasSubstr("CPU thread")));
  EXPECT_THAT(log_for("cuda", "H100-80GB"), HasSubstr(" tokens on H100;"));
  EXPECT_THAT(log_for("cpu", "4090"), HasSubstr(" tokens on RTX 4090;"));
  Sharded experiment;
  experiment.config.store.chunk_size = 0;
  EXPECT_EQ(experiment.plan(2, "no such card").code.name(), "plan.card");
}

}  // namespace
}  // namespace encode::testing
