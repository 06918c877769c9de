// Tests what `encode status` finds of all shards of an experiment.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "run_plan/shard_plan.h"
#include "shards/shard_words.h"
#include "shards/sharded.h"
#include "shards/shards_status.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// What an attempt on another machine says of itself.
struct Told {
  std::string state = "encoding";
  int64_t rows_done = 0;  // of each stream
  double rows_per_second = 0;
  double seconds_left = -1;
  std::string error_code = {};
  int64_t exit_code = 0;
  int64_t age_seconds = 0;
};

// An experiment whose attempts and parts are written by the test.
class ToldShards : public Sharded {
 public:
  static constexpr int64_t kRowsOfShard = 5;  // of each of two streams

  explicit ToldShards(int64_t shards) : shards_(shards) {
    for (const std::string stream : {"tc", "commit"})
      write_input(stream, shards * kRowsOfShard, stream);
    EXPECT_FALSE(plan(shards).code);
    checksum_ = read_shard_plan(cache("")).checksum;
  }

  void publish(int64_t shard) const {
    const Json record = {{"format", 1},
                         {"plan", checksum_},
                         {"shard", shard},
                         {"attempt", "attempt-0123456789abcdef"},
                         {"matrices", Json::array()}};
    write_bytes(ShardFiles(cache("")).part(shard), seal(record) + "\n");
  }

  void tell(int64_t shard, const Told& told) const {
    const std::string folder = ShardFiles(cache("")).shard(shard) + "/attempt-00000000000000aa";
    fs::create_directories(folder);
    write_bytes(folder + "/LOCK",
                Json{{"pid", 7}, {"host", "node7"}, {"started", "2026-01-01T00:00:00Z"}}.dump());
    Json status = {{"state", told.state},
                   {"pid", 7},
                   {"time", std::time(nullptr) - told.age_seconds},
                   {"config", "run.yaml"},
                   {"rows_per_second", told.rows_per_second},
                   {"seconds_left", told.seconds_left},
                   {"streams", Json::array()}};
    for (const char* stream : {"train_tc", "train_commit"})
      status["streams"].push_back(
          {{"stream", stream}, {"rows", kRowsOfShard}, {"rows_done", told.rows_done}});
    if (!told.error_code.empty()) {
      status["error"] = {{"code", told.error_code}, {"what", "w"}, {"where", ""}};
      status["exit_code"] = told.exit_code;
    }
    write_bytes(folder + "/status.json", status.dump());
  }

  ShardsStatus status() const { return read_shards_status(cache(""), ""); }
  int64_t rows() const { return 2 * shards_ * kRowsOfShard; }

 private:
  int64_t shards_;
  std::string checksum_;
};

TEST(ShardWords, NumbersBecomeRanges) {
  EXPECT_EQ(ranges_of_shards({}), "");
  EXPECT_EQ(ranges_of_shards({4}), "4");
  EXPECT_EQ(ranges_of_shards({0, 1, 2, 3, 7, 9, 10, 11, 12}), "0-3,7,9-12");
}

TEST(ShardsStatus, CountsTheStatesAndTheRowsOf200Shards) {
  const ToldShards experiment(200);
  for (int64_t shard = 0; shard < 200; ++shard) {
    if (shard < 120) {
      experiment.publish(shard);
    } else if (shard < 150) {
      experiment.tell(shard, {.rows_done = 2, .rows_per_second = 10, .seconds_left = 0.6});
    } else if (shard < 160) {
      experiment.tell(shard, {.state = "failed",
                              .rows_done = 5,
                              .error_code = shard < 157 ? "text.utf8" : "worker.died",
                              .exit_code = shard < 157 ? 65 : 70});
    } else if (shard < 170) {
      experiment.tell(shard, {.state = shard == 160 ? "stopped" : "encoding",
                              .rows_per_second = 99,
                              .age_seconds = 24 * 60 * 60});
    }
  }
  experiment.tell(130, {.rows_done = 1, .rows_per_second = 0.5, .seconds_left = 16});
  const ShardsStatus status = experiment.status();
  EXPECT_THAT(status.problems, IsEmpty());
  EXPECT_THAT(status.shards_in(ShardState::kPublished), SizeIs(120));
  EXPECT_THAT(status.shards_in(ShardState::kAtWork), SizeIs(30));
  EXPECT_THAT(status.shards_in(ShardState::kFailed), SizeIs(10));
  EXPECT_THAT(status.shards_in(ShardState::kInterrupted), SizeIs(10));
  EXPECT_THAT(status.shards_in(ShardState::kNotBegun), SizeIs(30));
  EXPECT_EQ(status.rows, experiment.rows());
  // What has ended has saved no chunk, whatever it has said of computed rows.
  EXPECT_EQ(status.rows_done, 120 * 10 + 29 * 4 + 2);
  EXPECT_DOUBLE_EQ(status.rows_per_second(), 29 * 10 + 0.5);
  EXPECT_DOUBLE_EQ(status.seconds_left(), std::max(16.0, (2000 - 1318) / 290.5));
  ASSERT_NE(status.slowest(), nullptr);
  EXPECT_EQ(status.slowest()->shard, 130);
  EXPECT_EQ(status.slowest()->host, "node7");
  ASSERT_THAT(status.failures, SizeIs(4));
  EXPECT_EQ(ranges_of_shards(status.failures[0].shards), "161-169");
  EXPECT_EQ(status.failures[0].what, "ended without a message");
  EXPECT_EQ(status.failures[1].code, "text.utf8");
  EXPECT_EQ(status.failures[1].exit_code, 65);
  EXPECT_EQ(ranges_of_shards(status.failures[1].shards), "150-156");
  EXPECT_THAT(status.advice(), HasSubstr("then run shards 150-199 "));
  EXPECT_THAT(status.advice(), HasSubstr("encode run --config run.yaml --shard 150/200"));

  const std::string text = render_text(status);
  EXPECT_THAT(text,
              HasSubstr("120 published, 30 at work, 10 interrupted, 10 failed, 30 not begun"));
  EXPECT_THAT(text, HasSubstr("exit code 70 [worker.died] w: shards 157-159"));
  EXPECT_THAT(text, HasSubstr("missing   120-199\n"));
  const Json json = Json::parse(render_json(status));
  EXPECT_EQ(json["published"], 120);
  EXPECT_EQ(json["at_work"], 30);
  EXPECT_EQ(json["rows_done"], 1318);
  EXPECT_EQ(json["missing"], "120-199");
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["failures"][1]["count"], 7);
  EXPECT_EQ(json["slowest"]["shard"], 130);
}

TEST(ShardsStatus, TheNextStepIsToRunToWaitOrToMerge) {
  const ToldShards experiment(3);
  EXPECT_THAT(experiment.status().advice(), HasSubstr("Run shards 0-2 "));
  experiment.publish(0);
  experiment.tell(1, {});
  experiment.tell(2, {.state = "stopped"});
  EXPECT_THAT(experiment.status().advice(), HasSubstr("Run shards 2 "));
  experiment.tell(2, {});
  EXPECT_THAT(experiment.status().advice(), HasSubstr("Wait"));
  for (const int64_t shard : {1, 2}) experiment.publish(shard);
  EXPECT_THAT(experiment.status().advice(), HasSubstr("If they are not merged yet: encode merge"));
  EXPECT_EQ(experiment.status().rows_done, experiment.rows());
}

TEST(ShardsStatus, NothingIsLeftToDoAfterAMerge) {
  for (const OutputType type : {OutputType::kFloat32, OutputType::kInt8}) {
    Sharded experiment;
    experiment.config.store.final_format.type = type;
    experiment.encode(3);
    const auto status = [&] { return read_shards_status(experiment.cache(""), "run.yaml"); };
    EXPECT_THAT(status().advice(), HasSubstr("encode merge"));
    EXPECT_THAT(status().merged, IsEmpty());
    ASSERT_FALSE(experiment.merge().code);
    EXPECT_THAT(status().merged, SizeIs(type == OutputType::kFloat32 ? 3 : 2));
    EXPECT_THAT(status().advice(), HasSubstr("encode verify "));
    EXPECT_THAT(status().advice(), Not(HasSubstr("encode merge")));
    EXPECT_EQ(status().state(), "done");
    // A part that was published after the merge.
    const std::string part = ShardFiles(experiment.cache("")).part(1);
    const std::string record = read_bytes(part);
    Json other = unseal(record.substr(0, record.size() - 1), part);
    other["matrices"][0]["xxh3_128"] = std::string(32, '0');
    write_bytes(part, seal(other) + "\n");
    EXPECT_THAT(status().advice(), HasSubstr("encode merge"));
    write_bytes(part, record);
    EXPECT_THAT(status().advice(), Not(HasSubstr("encode merge"))) << "the control";
    fs::remove(experiment.cache("train_tc_embeddings.parts.json"));
    EXPECT_THAT(status().advice(), HasSubstr("encode merge"));
  }
}

TEST(ShardsStatus, ARecordOfAnotherPlanIsNoPart) {
  ToldShards experiment(2);
  experiment.publish(0);
  EXPECT_THAT(experiment.status().missing(), ElementsAre(1)) << "the control";
  experiment.config.store.quarantine = QuarantinePolicy::kDrop;
  ASSERT_FALSE(experiment.plan(2).code);
  EXPECT_THAT(experiment.status().missing(), ElementsAre(0, 1));
}

TEST(ShardsStatus, TheRowsOfAFailedAttemptAreThoseOfItsChunks) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  experiment.config.hardware.max_restarts = 0;
  ASSERT_FALSE(experiment.plan(2).code);
  ASSERT_TRUE(experiment.run_shard(0, "crash:3:9").code);
  const ShardsStatus status = read_shards_status(experiment.cache(""), "");
  EXPECT_THAT(status.shards_in(ShardState::kFailed), ElementsAre(0));
  EXPECT_EQ(status.rows_done, experiment.encoded_chunks()) << "a chunk has one row";
  EXPECT_GT(status.rows_done, 0);
}

TEST(ShardsStatus, ARunningAttemptIsAtWorkUntilItIsKilled) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  ASSERT_FALSE(experiment.plan(2).code);
  const pid_t child = experiment.start(1, 100);
  const auto at_work = [&] {
    return read_shards_status(experiment.cache(""), "").shards_in(ShardState::kAtWork);
  };
  for (int i = 0; i < 500 && at_work().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(at_work(), ElementsAre(1));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const ShardsStatus status = read_shards_status(experiment.cache(""), "");
  EXPECT_THAT(status.shards_in(ShardState::kInterrupted), ElementsAre(1));
}

TEST(ShardsStatus, AShardThatCannotBeReadIsAProblemOfThisShard) {
  const ToldShards experiment(3);
  experiment.publish(2);
  fs::create_directory(ShardFiles(experiment.cache("")).part(1));
  const ShardsStatus status = experiment.status();
  ASSERT_THAT(status.problems, SizeIs(1));
  EXPECT_THAT(status.problems[0], HasSubstr("00001/part.json"));
  EXPECT_THAT(status.missing(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace encode::testing
