// Tests `encode shards plan --extend`: what was encoded before counts in the new plan.
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "run_plan/shard_plan.h"
#include "shards/sharded.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// An experiment of one stream and three shards, whose files have the given rows.
class Extended : public Sharded {
 public:
  explicit Extended(const std::vector<std::string>& rows_of_files) {
    config.combine.clear();
    config.streams.pop_back();
    write(rows_of_files);
  }
  // Each file has a row for each letter.
  void write(const std::vector<std::string>& rows_of_files) {
    std::vector<std::string> paths;
    for (const std::string& letters : rows_of_files) {
      std::string lines;
      for (const char letter : letters) lines += fmt::format("{{\"text\":\"row {}\"}}\n", letter);
      paths.push_back(dir().write(fmt::format("tc-{}.jsonl", paths.size()), lines));
    }
    config.streams[0].input.path = paths[0];
    config.streams[0].input.more_paths.assign(paths.begin() + 1, paths.end());
  }
  void run_shards(int64_t shards) {
    for (int64_t shard = 0; shard < shards; ++shard) ASSERT_FALSE(run_shard(shard).code) << shard;
  }
  // The rows of the merged matrix, and those of one run over the same input.
  std::string rows() {
    EXPECT_FALSE(merge().code);
    EXPECT_EQ(verified(cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
    std::string rows;
    for (const PartsList::Entry& part : list("train_tc").parts)
      rows += read_bytes(cache(part.file)).substr(128);
    return rows;
  }
  std::string rows_of_one_run() {
    RunConfig own = config;
    config.store.cache_dir = dir().file("whole");
    EXPECT_EQ(run().exit_code, ExitCode::kOk);
    const std::string rows = read_bytes(dir().file("whole/train_tc_embeddings.npy")).substr(128);
    fs::remove_all(config.store.cache_dir);
    config = own;
    return rows;
  }
};

// A block has 1,000 rows, so a shard of 1,000 rows shares no block with its neighbours.
std::string many(char letter, size_t rows) { return std::string(rows, letter); }

TEST(Extend, PartsOfTheSameRowsAreKept) {
  Extended experiment({many('a', 1000), many('b', 1000), many('c', 1000)});
  experiment.config.store.chunk_size = 100;
  ASSERT_FALSE(experiment.plan(3).code);
  experiment.run_shards(3);
  const int64_t chunks = experiment.encoded_chunks();
  ASSERT_EQ(chunks, 30);
  experiment.write({many('a', 1000), many('b', 1000), many('c', 1000), many('d', 1500)});
  EXPECT_EQ(experiment.plan(3).code.name(), "shards.foreign");
  const ExtendedPlan plan = experiment.extend();
  EXPECT_EQ(plan.shards, 5);
  EXPECT_EQ(plan.kept, 3);
  EXPECT_EQ(experiment.merge().code.name(), "shards.missing");
  experiment.run_shards(5);
  EXPECT_EQ(experiment.encoded_chunks(), chunks + 16) << "two shards of 750 rows";
  EXPECT_EQ(experiment.rows(), experiment.rows_of_one_run());
  // The same command again changes nothing.
  EXPECT_EQ(experiment.extend().kept, 5);
  EXPECT_EQ(experiment.rows(), experiment.rows_of_one_run());
}

TEST(Extend, AShardWhoseRowsHaveChangedIsEncodedAgain) {
  Extended experiment({many('a', 1000), many('b', 1000), many('c', 1000)});
  experiment.config.store.chunk_size = 100;
  ASSERT_FALSE(experiment.plan(3).code);
  experiment.run_shards(3);
  const std::string before = experiment.rows();
  experiment.write({many('a', 1000), many('b', 999) + "x", many('c', 1000)});
  EXPECT_EQ(experiment.extend().kept, 2);
  EXPECT_EQ(read_shard_plan(experiment.cache("")).shards, 3);
  experiment.run_shards(3);
  EXPECT_EQ(experiment.encoded_chunks(), 40);
  EXPECT_NE(experiment.rows(), before) << "the control";
  EXPECT_EQ(experiment.rows(), experiment.rows_of_one_run());
}

TEST(Extend, RowsThatAreInsertedOrGoneMoveTheRowsAfterThem) {
  Extended experiment({many('a', 1000), many('b', 1000), many('c', 1000)});
  ASSERT_FALSE(experiment.plan(3).code);
  experiment.run_shards(3);
  experiment.write({many('a', 1000), "x" + many('b', 1000), many('c', 1000)});
  EXPECT_EQ(experiment.extend().kept, 1);
  experiment.run_shards(4);
  EXPECT_EQ(experiment.rows(), experiment.rows_of_one_run());
  experiment.write({many('a', 1000)});
  EXPECT_EQ(experiment.extend().kept, 1);
  experiment.run_shards(4);
  EXPECT_EQ(experiment.rows(), experiment.rows_of_one_run());
}

TEST(Extend, AnAttemptGoesOnWithItsChunks) {
  Extended experiment({many('a', 1000), many('b', 1000), many('c', 1000)});
  experiment.config.store.chunk_size = 100;
  experiment.config.hardware.max_restarts = 0;
  ASSERT_FALSE(experiment.plan(3).code);
  ASSERT_TRUE(experiment.run_shard(0, "crash:4:9").code);
  experiment.write({many('a', 1000), many('b', 1000), many('c', 1000), many('d', 10)});
  EXPECT_EQ(experiment.extend().kept, 0);
  ASSERT_FALSE(experiment.run_shard(0).code);
  EXPECT_EQ(experiment.encoded_chunks(), 10) << "each chunk of the shard once";
}

// As if the command had been killed after it wrote the records of the parts.
TEST(Extend, CanBeRepeatedAfterAKill) {
  Extended experiment({many('a', 1000), many('b', 1000)});
  ASSERT_FALSE(experiment.plan(2).code);
  experiment.run_shards(2);
  const std::string plan = read_bytes(experiment.cache("shards.json"));
  experiment.write({many('a', 1000), many('b', 1000), many('c', 10)});
  EXPECT_EQ(experiment.extend().kept, 2);
  write_bytes(experiment.cache("shards.json"), plan);
  EXPECT_EQ(experiment.merge().code.name(), "shards.foreign");
  EXPECT_EQ(experiment.extend().kept, 2);
  experiment.run_shards(3);
  EXPECT_EQ(experiment.rows(), experiment.rows_of_one_run());
}

TEST(Extend, AnotherExperimentIsRefused) {
  Extended experiment({many('a', 30), many('b', 30)});
  ErrorDetail error;
  experiment.extend(&error);
  EXPECT_EQ(error.code.name(), "shards.missing");
  ASSERT_FALSE(experiment.plan(2).code);
  const std::string plan = read_bytes(experiment.cache("shards.json"));
  const RunConfig planned = experiment.config;
  const auto refused = [&] {
    experiment.extend(&error);
    experiment.config = planned;
    return std::string(error.code.name());
  };
  experiment.config.streams[0].result.max_length = 8;
  EXPECT_EQ(refused(), "shards.foreign");
  experiment.config.streams[0].result.pooling = PoolingMode::kCls;
  EXPECT_EQ(refused(), "shards.foreign");
  experiment.config.store.final_format.type = OutputType::kFloat16;
  EXPECT_EQ(refused(), "shards.foreign");
  EXPECT_THAT(error.expected, HasSubstr("output format"));
  EXPECT_EQ(read_bytes(experiment.cache("shards.json")), plan);
}

}  // namespace
}  // namespace encode::testing
