// Tests which attempts `encode shards clean` deletes, and that it deletes nothing else.
#include <algorithm>
#include <filesystem>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "shards/clean_shards.h"
#include "shards/sharded.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// An experiment whose attempts have no files but those of encode.
class Cleaned : public Sharded {
 public:
  Cleaned() { config.store.chunk_size = 1; }

  CleanReport clean(const CleanOptions& options = {}) const {
    for (const auto& entry : fs::recursive_directory_iterator(cache("shards"))) {
      const std::string name = entry.path().filename().string();
      if (name == "encoded_chunks" || name == "misdeeds") fs::remove(entry.path());
    }
    return clean_shards(config, options);
  }
  // Leaves an attempt with some chunks, which has ended with an error.
  std::string fail(int64_t shard) {
    const std::vector<std::string> before = attempts(shard);
    const int64_t restarts = std::exchange(config.hardware.max_restarts, 0);
    EXPECT_TRUE(run_shard(shard, "crash:2:9").code);
    config.hardware.max_restarts = restarts;
    for (const std::string& path : attempts(shard)) {
      if (std::ranges::find(before, path) == before.end()) return path;
    }
    return "";
  }
};

int64_t bytes_below(const std::string& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

// As if the attempt had run on a machine whose locks are not seen here.
void move_to_another_machine(const std::string& attempt) {
  Json owner = Json::parse(read_bytes(attempt + "/LOCK"));
  owner["host"] = "node7";
  owner["boot_id"] = "another";
  write_bytes(attempt + "/LOCK", owner.dump());
  Json status = Json::parse(read_bytes(attempt + "/status.json"));
  status["state"] = "encoding";
  write_bytes(attempt + "/status.json", status.dump());
}

TEST(CleanShards, OnlyTheAttemptOfThePartIsLeft) {
  Cleaned experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  const std::string failed = experiment.fail(0);
  for (const int64_t shard : {0, 1}) ASSERT_FALSE(experiment.run_shard(shard).code);
  ASSERT_FALSE(experiment.merge().code);
  const CleanReport dry = experiment.clean({.dry_run = true});
  EXPECT_THAT(dry.deleted, ElementsAre(failed));
  EXPECT_TRUE(fs::exists(failed)) << "a dry run deletes nothing";
  const int64_t before = bytes_below(experiment.cache(""));
  const CleanReport report = experiment.clean();
  EXPECT_THAT(report.deleted, ElementsAre(failed));
  EXPECT_THAT(report.kept, IsEmpty());
  EXPECT_GT(report.freed_bytes, 0);
  EXPECT_EQ(report.freed_bytes, dry.freed_bytes);
  EXPECT_EQ(report.freed_bytes, before - bytes_below(experiment.cache("")));
  EXPECT_FALSE(fs::exists(failed));
  for (const std::string& name : kNames)
    EXPECT_EQ(verified(experiment.cache(name + "_embeddings.parts.json")), ExitCode::kOk);
  ASSERT_FALSE(experiment.merge().code) << "the parts are still there";
  EXPECT_EQ(experiment.merged(), undivided());
  EXPECT_THAT(experiment.clean().deleted, IsEmpty());
}

TEST(CleanShards, AShardWithoutAPartKeepsWhatItGoesOnWith) {
  Cleaned experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  const std::string failed = experiment.fail(0);
  const CleanReport report = experiment.clean();
  EXPECT_THAT(report.deleted, IsEmpty());
  ASSERT_THAT(report.kept, SizeIs(1));
  EXPECT_EQ(report.kept[0].path, failed);
  EXPECT_TRUE(fs::exists(failed + "/train_tc_chunks/chunks.log"));
}

TEST(CleanShards, AnAttemptAtWorkIsKept) {
  Cleaned experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  const pid_t child = experiment.start(0, 50);
  while (experiment.attempts(0).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string working = experiment.attempts(0).front();
  while (!fs::exists(working + "/status.json"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fs::remove(experiment.cache("shards/00000/LOCK"));  // a second attempt may then publish
  ASSERT_FALSE(experiment.run_shard(0).code);
  const CleanReport report = experiment.clean({.older_than_seconds = 0});
  EXPECT_THAT(report.deleted, IsEmpty());
  ASSERT_THAT(report.kept, SizeIs(1));
  EXPECT_EQ(report.kept[0].path, working);
  EXPECT_THAT(report.kept[0].why, HasSubstr("at work"));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "it has published its part";
  EXPECT_THAT(experiment.clean({.older_than_seconds = 0}).deleted, SizeIs(1)) << "the control";
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

TEST(CleanShards, AnAttemptThatIsNotSeenHereIsKeptWhileItIsYoung) {
  Cleaned experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  const std::string failed = experiment.fail(0);
  ASSERT_FALSE(experiment.run_shard(0).code);
  move_to_another_machine(failed);
  const CleanReport young = experiment.clean();
  EXPECT_THAT(young.deleted, IsEmpty());
  ASSERT_THAT(young.kept, SizeIs(1));
  EXPECT_THAT(young.kept[0].why, HasSubstr("--older-than"));
  EXPECT_THAT(experiment.clean({.older_than_seconds = 0}).deleted, ElementsAre(failed));
}

TEST(CleanShards, TheAttemptsOfAPlanThatWasGivenUpGo) {
  Cleaned experiment;
  ASSERT_FALSE(experiment.plan(4).code);
  for (const int64_t shard : {1, 3}) experiment.fail(shard);
  fs::remove(experiment.cache("shards.json"));
  ASSERT_FALSE(experiment.plan(2).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  const CleanReport report = experiment.clean();
  EXPECT_THAT(report.kept, IsEmpty());
  EXPECT_FALSE(fs::exists(experiment.cache("shards/00003")));
  EXPECT_FALSE(fs::exists(experiment.cache("shards/00002")));
  EXPECT_THAT(experiment.attempts(1), IsEmpty()) << "it has other rows now";
  EXPECT_THAT(experiment.attempts(0), SizeIs(1)) << "the control";
  ASSERT_FALSE(experiment.run_shard(1).code);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

TEST(CleanShards, NothingElseIsDeleted) {
  Cleaned experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  const std::string failed = experiment.fail(0);
  ASSERT_FALSE(experiment.run_shard(0).code);
  write_bytes(failed + "/notes.txt", "of a user");
  write_bytes(failed + "/train_tc_chunks/notes.npy", "of a user");
  const std::string elsewhere = experiment.dir().file("elsewhere");
  fs::create_directory(elsewhere);
  write_bytes(elsewhere + "/status.json", "of a user");
  const std::string shard = experiment.cache("shards/00000");
  fs::create_directory_symlink(elsewhere, shard + "/attempt-0123456789abcdef");
  fs::create_directory_symlink(elsewhere, failed + "/other_chunks");
  write_bytes(elsewhere + "/chunk_0000.npy", "of a user");
  for (const char* name : {"attempt-xyz", "attempt-0123456789ABCDEF", "mine"})
    fs::create_directory(shard + "/" + name);
  fs::create_directory(experiment.cache("shards/backup"));
  const CleanReport report = experiment.clean({.older_than_seconds = 0});
  EXPECT_THAT(report.deleted, ElementsAre(failed));
  EXPECT_EQ(read_bytes(failed + "/notes.txt"), "of a user");
  EXPECT_EQ(read_bytes(failed + "/train_tc_chunks/notes.npy"), "of a user");
  EXPECT_FALSE(fs::exists(failed + "/status.json")) << "the control";
  EXPECT_EQ(read_bytes(elsewhere + "/status.json"), "of a user");
  EXPECT_EQ(read_bytes(elsewhere + "/chunk_0000.npy"), "of a user");
  for (const char* name : {"attempt-xyz", "attempt-0123456789ABCDEF", "mine", "part.json"})
    EXPECT_TRUE(fs::exists(shard + "/" + name)) << name;
  EXPECT_TRUE(fs::exists(experiment.cache("shards/backup")));
  std::vector<std::string> kept;
  for (const KeptPath& path : report.kept) kept.push_back(path.path);
  EXPECT_THAT(kept, Contains(failed + "/notes.txt"));
  EXPECT_THAT(kept, Contains(shard + "/attempt-0123456789abcdef"));
}

TEST(CleanShards, TheFolderOfAnAttemptBesideTheOutputGoesWithIt) {
  Cleaned experiment;
  experiment.config.combine.clear();
  experiment.config.streams.pop_back();
  experiment.config.store.output = experiment.dir().file("out/x.npy");
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  const std::string first = fs::path(experiment.attempts(0).front()).filename().string();
  fs::remove(experiment.cache("shards/00000/part.json"));
  write_bytes(experiment.dir().file("out/.parts/" + first + "/x.npy"), "damaged");
  ASSERT_FALSE(experiment.run_shard(0).code);
  ASSERT_FALSE(experiment.merge().code);
  const std::string foreign = experiment.dir().file("out/.parts/attempt-0123456789abcdef");
  fs::create_directory(foreign);
  const CleanReport report = experiment.clean({.older_than_seconds = 0});
  EXPECT_THAT(report.deleted, SizeIs(2));
  EXPECT_FALSE(fs::exists(experiment.dir().file("out/.parts/" + first)));
  EXPECT_TRUE(fs::exists(foreign)) << "another cache directory may have made it";
  EXPECT_EQ(verified(experiment.dir().file("out/x.parts.json")), ExitCode::kOk);
  ASSERT_FALSE(experiment.merge().code);
}

TEST(CleanShards, ChunksThatAnInterruptionLeftGo) {
  Cleaned experiment;
  experiment.config.store.keep_chunk_cache = true;  // as if the attempt had been killed
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_FALSE(experiment.run_shard(0).code);
  const std::string attempt = experiment.attempts(0).front();
  EXPECT_THAT(experiment.clean({.older_than_seconds = 0}).deleted, IsEmpty()) << "they are kept";
  experiment.config.store.keep_chunk_cache = false;
  EXPECT_THAT(experiment.clean({.older_than_seconds = 0}).deleted, ElementsAre(attempt));
  EXPECT_FALSE(fs::exists(attempt + "/train_tc_chunks"));
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

}  // namespace
}  // namespace encode::testing
