// Tests inputs of more files than a plan, a job or a manifest can name: they have a list of their
// own (store/file_list.h).
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"
#include "run_plan/shard_plan.h"
#include "shards/sharded.h"
#include "store/file_list.h"
#include "store/run_files.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kFiles = 10'500;

// An experiment of one stream whose files have a row each. A block has 1,000 rows, so the shards
// begin near the files 3500 and 7000.
class ManyFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    experiment_.config.combine.clear();
    experiment_.config.streams.pop_back();
    experiment_.config.store.chunk_size = 2000;
    experiment_.config.streams[0].input.path = experiment_.dir().file("in/*.jsonl");
    for (int64_t file = 0; file < kFiles; ++file) write(file, fmt::to_string(file));
  }
  void write(int64_t file, const std::string& text) const {
    experiment_.dir().write(name_of(file), fmt::format("{{\"text\":\"row {}\"}}\n", text));
  }
  static std::string name_of(int64_t file) { return fmt::format("in/part-{:06}.jsonl", file); }
  std::string path_of(int64_t file) const { return experiment_.dir().file(name_of(file)); }
  std::string list_path() const {
    return RunFiles(experiment_.config.store.cache_dir).file_list("train_tc");
  }
  std::string rows_of_one_run() {
    const std::string cache = experiment_.config.store.cache_dir;
    experiment_.config.store.cache_dir = experiment_.dir().file("whole");
    const RunResult result = experiment_.run();
    EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.log;
    experiment_.config.store.cache_dir = cache;
    return read_bytes(experiment_.dir().file("whole/train_tc_embeddings.npy")).substr(128);
  }
  std::string merged_rows() {
    std::string rows;
    for (const PartsList::Entry& part : experiment_.list("train_tc").parts)
      rows += read_bytes(experiment_.cache(part.file)).substr(128);
    return rows;
  }

  Sharded experiment_;
};

void expect_small(const std::string& path) {
  EXPECT_LT(fs::file_size(path), 20'000U) << path;
  EXPECT_THAT(read_bytes(path), Not(HasSubstr("part-005000"))) << path;
}

TEST_F(ManyFiles, NothingThatAShardReadsGrowsWithThem) {
  ASSERT_FALSE(experiment_.plan(3).code);
  const ShardFiles files(experiment_.config.store.cache_dir);
  expect_small(files.plan());
  for (int64_t shard = 0; shard < 3; ++shard) {
    expect_small(files.scan(shard));
    ASSERT_FALSE(experiment_.run_shard(shard).code) << shard;
    const std::string attempt = experiment_.attempts(shard).front();
    expect_small(attempt + "/job.json");
    expect_small(attempt + "/train_tc_embeddings.npy.manifest.json");
    expect_small(files.part(shard));
  }
  const Shard shard = read_shard(experiment_.config.store.cache_dir, 1);
  EXPECT_TRUE(shard.plan.streams[0].scan.files.empty());
  EXPECT_LT(shard.scans[0].files.size(), 4600U) << "its own files";
  ASSERT_FALSE(experiment_.merge().code);
  EXPECT_EQ(verified(experiment_.cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
  EXPECT_EQ(merged_rows(), rows_of_one_run());
  const std::string part = experiment_.cache(experiment_.list("train_tc").parts[1].file);
  const std::optional<Manifest> manifest = read_manifest(part);
  ASSERT_TRUE(manifest && manifest->identity.input_list);
  EXPECT_TRUE(manifest->identity.inputs.empty());
  const ScannedFiles found = read_list_of_matrix(*manifest->identity.input_list, part);
  ASSERT_EQ(std::ssize(found), kFiles);
  EXPECT_EQ(found[5000].path, path_of(5000));
  EXPECT_EQ(found[5000].first_row, 5000);
}

TEST_F(ManyFiles, AChangedFileEndsItsShardOnly) {
  ASSERT_FALSE(experiment_.plan(3).code);
  write(5000, "another text");
  EXPECT_FALSE(experiment_.run_shard(0).code);
  EXPECT_EQ(experiment_.run_shard(1).code.name(), "text.changed");
  EXPECT_FALSE(experiment_.run_shard(2).code);
  EXPECT_EQ(experiment_.plan(3).code.name(), "shards.foreign") << "a plan of other files";
  fs::remove(path_of(5000));
  EXPECT_EQ(experiment_.run_shard(1).code.name(), "text.changed") << "it is gone";
  write(5000, "5000");
  fs::rename(path_of(5001), experiment_.dir().file("in/part-renamed.jsonl"));
  EXPECT_EQ(experiment_.run_shard(1).code.name(), "text.changed") << "it has another name";
  fs::rename(experiment_.dir().file("in/part-renamed.jsonl"), path_of(5001));
  write(kFiles, "of a file that the plan does not have");
  EXPECT_FALSE(experiment_.run_shard(1).code);
  EXPECT_FALSE(experiment_.merge().code);
}

TEST_F(ManyFiles, ADamagedListEndsTheShardsThatReadTheDamage) {
  ASSERT_FALSE(experiment_.plan(3).code);
  const std::string whole = read_bytes(list_path());
  std::string damaged = whole;
  damaged[whole.find("part-010499")] = 'q';
  write_bytes(list_path(), damaged);
  EXPECT_FALSE(experiment_.run_shard(0).code);
  const ErrorDetail error = experiment_.run_shard(2);
  EXPECT_EQ(error.code.name(), "store.damaged");
  EXPECT_THAT(error.hint, HasSubstr("encode shards plan"));
  fs::remove(list_path());
  EXPECT_EQ(experiment_.run_shard(2).exit_code, ExitCode::kNoInput);
  ASSERT_FALSE(experiment_.plan(3).code) << "the same plan again writes the list again";
  EXPECT_EQ(read_bytes(list_path()), whole);
  EXPECT_FALSE(experiment_.run_shard(2).code);
}

TEST_F(ManyFiles, AddedFilesExtendThePlan) {
  experiment_.encode(3);
  for (int64_t file = kFiles; file < kFiles + 2000; ++file) write(file, fmt::to_string(file));
  const ExtendedPlan plan = experiment_.extend();
  EXPECT_EQ(plan.shards, 4);
  EXPECT_EQ(plan.kept, 2) << "the last block of the third shard has more rows";
  for (int64_t shard = 0; shard < 4; ++shard) ASSERT_FALSE(experiment_.run_shard(shard).code);
  ASSERT_FALSE(experiment_.merge().code);
  EXPECT_EQ(merged_rows(), rows_of_one_run());
}

TEST_F(ManyFiles, ARunWithoutShardsGoesOn) {
  const RunResult stopped = experiment_.run("exit78:2:1");
  ASSERT_EQ(stopped.exit_code, ExitCode::kConfig) << stopped.log;
  expect_small(experiment_.cache("job.json"));
  EXPECT_EQ(experiment_.take_encoded_chunks(), std::vector<int64_t>({0, 1}));
  const RunResult result = experiment_.run();
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.log;
  EXPECT_EQ(experiment_.take_encoded_chunks(), std::vector<int64_t>({2, 3, 4, 5}));
  expect_small(experiment_.tc() + ".manifest.json");
  const std::string list = read_bytes(list_path());
  fs::remove(list_path());
  EXPECT_EQ(experiment_.run().exit_code, ExitCode::kOk);
  EXPECT_TRUE(experiment_.take_encoded_chunks().empty());
  EXPECT_EQ(read_bytes(list_path()), list) << "a lost list is written again";
  write(4, "another text");
  const RunResult other = experiment_.run();
  EXPECT_EQ(other.exit_code, ExitCode::kConfig);
  EXPECT_EQ(read_bytes(list_path()), list) << "a run that is refused replaces no list";
}

}  // namespace
}  // namespace encode::testing
