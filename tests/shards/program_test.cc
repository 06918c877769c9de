// Tests the commands for shards as programs: what they print, and their exit codes.
#include "supervisor/program.h"

#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ShardCommands : public ::testing::Test {
 protected:
  ShardCommands() {
    std::string lines;
    for (int row = 0; row < 17; ++row) lines += fmt::format("{{\"text\":\"row {}\"}}\n", row);
    dir_.write("tc.jsonl", lines);
    dir_.write("run.yaml", fmt::format("semantic: {{model: {}, chunk_size: 5, cache_dir: cache}}\n"
                                       "input: {{file: tc.jsonl, field: text}}\n",
                                       test_data("models/bert")));
    EXPECT_EQ(encode({"shards", "plan", "--config", "run.yaml", "--shards", "3"}).exit_code, 0);
  }
  ProgramEnd encode(std::vector<std::string> arguments,
                    const Program::Environment& environment = {}) const {
    const auto go_there = [this] { fs::current_path(dir_.path()); };
    return Program(dir_.path(), std::move(arguments), environment, go_there).wait();
  }
  // From the lock number `at` on, the file system of the cache has no locks.
  Program::Environment without_locks(int at) const {
    return {{"LD_PRELOAD", built_file(FAULT_LIBRARY)},
            {"FAULT_ROOT", dir_.path()},
            {"FAULT_MODE", "errno"},
            {"FAULT_CALL", "lock"},
            {"FAULT_ERRNO", fmt::to_string(ENOLCK)},
            {"FAULT_AT", fmt::to_string(at)},
            {"FAULT_PERSISTENT", "1"},
            {"FAULT_LOCK_MAY_GO", "1"}};
  }
  void run_shard(int64_t shard) const {
    ASSERT_EQ(
        encode({"run", "--config", "run.yaml", "--shard", fmt::format("{}/3", shard)}).exit_code,
        0);
  }

  TempDir dir_;
};

TEST_F(ShardCommands, StatusShowsAllShardsByConfigAndByFolder) {
  run_shard(1);
  for (const std::vector<std::string>& named : {std::vector<std::string>{"--config", "run.yaml"},
                                                {"cache"},
                                                {"--cache-dir", "cache"},
                                                {"."}}) {
    std::vector<std::string> arguments = {"status", "--json"};
    arguments.insert(arguments.end(), named.begin(), named.end());
    const ProgramEnd end = encode(arguments);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const Json json = Json::parse(end.out);
    EXPECT_EQ(json["published"], 1) << named[0];
    EXPECT_EQ(json["missing"], "0,2");
    EXPECT_EQ(json["rows"], 17);
    EXPECT_THAT(json["next"].get<std::string>(), HasSubstr("--config run.yaml --shard 0/3"));
  }
  EXPECT_THAT(encode({"status", "cache"}).out, HasSubstr("1 published, 2 not begun"));
}

TEST_F(ShardCommands, AMergeWithJsonWritesOnlyObjects) {
  const auto merge = [&] { return encode({"merge", "--config", "run.yaml", "--json"}); };
  const ProgramEnd refused = merge();
  EXPECT_EQ(refused.exit_code, 66);
  const Json error = Json::parse(refused.out);
  EXPECT_EQ(error["event"], "error");
  EXPECT_EQ(error["code"], "shards.missing");
  EXPECT_EQ(error["exit_code"], 66);
  for (const int64_t shard : {0, 1, 2}) run_shard(shard);
  EXPECT_THAT(encode({"status", "cache"}).out, HasSubstr("encode merge --config run.yaml\n"));
  const ProgramEnd merged = merge();
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  std::istringstream lines(merged.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(Json::parse(line)["event"], "merged");
  EXPECT_EQ(count, 1);
}

TEST_F(ShardCommands, VerifyBeforeAMergeHintsAtTheMerge) {
  const ProgramEnd before = encode({"verify", "--config", "run.yaml"});
  EXPECT_EQ(before.exit_code, 66);
  EXPECT_THAT(before.out, HasSubstr("encode merge --config run.yaml"));
  EXPECT_THAT(before.out, Not(HasSubstr("encode run")));
  for (const int64_t shard : {0, 1, 2}) run_shard(shard);
  ASSERT_EQ(encode({"merge", "--config", "run.yaml"}).exit_code, 0);
  EXPECT_EQ(encode({"verify", "--config", "run.yaml"}).exit_code, 0);
}

TEST_F(ShardCommands, AnErrorOfTheNumberIsJsonToo) {
  for (const char* wrong : {"0/4", "3/3", "x/3", "1", "auto"}) {
    const ProgramEnd end = encode({"run", "--config", "run.yaml", "--shard", wrong, "--json"});
    EXPECT_EQ(end.exit_code, 64) << wrong;
    const Json error = Json::parse(end.out);
    EXPECT_EQ(error["code"], "shards.number") << wrong;
    EXPECT_EQ(error["exit_code"], 64);
  }
  EXPECT_EQ(encode({"run", "--config", "run.yaml", "--shard", "2/3", "--json"}).exit_code, 0);
}

TEST_F(ShardCommands, StatusOfAFolderShowsTheRowsOfAllShards) {
  run_shard(1);
  dir_.write("other.jsonl", "{\"text\":\"a\"}\n");
  ASSERT_EQ(encode({"run", "--model", test_data("models/bert"), "--input", "other.jsonl", "--field",
                    "text", "--output", "other.npy"})
                .exit_code,
            0);
  const Json runs = Json::parse(encode({"status", ".", "--json"}).out)["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0]["path"], "cache");
  EXPECT_EQ(runs[0]["state"], "incomplete");
  EXPECT_EQ(runs[0]["rows"], 17);
  EXPECT_GT(runs[0]["rows_done"], 0);
  EXPECT_EQ(runs[1]["state"], "done") << "the control";
}

TEST_F(ShardCommands, AMergeMakesOneMatrixOnRequest) {
  for (const int64_t shard : {0, 1, 2}) run_shard(shard);
  EXPECT_EQ(encode({"merge", "--config", "run.yaml", "--parts", "two"}).exit_code, 64);
  const std::string matrix = "cache/embeddings_embeddings.npy";
  const std::vector<std::string> merge = {"merge", "--config", "run.yaml"};
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--parts", "one"}, {"--set", "output.parts=one"}}) {
    std::vector<std::string> words = merge;
    words.insert(words.end(), asked.begin(), asked.end());
    const ProgramEnd end = encode(words);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.out, HasSubstr(matrix));
    EXPECT_EQ(encode({"verify", matrix}).exit_code, 0);
    EXPECT_FALSE(fs::exists(dir_.file("cache/embeddings_embeddings.parts.json")));
    EXPECT_THAT(encode({"status", "cache"}).out, HasSubstr("encode verify " + matrix));
    for (const char* name :
         {"embeddings_embeddings.npy", "embeddings_embeddings.npy.manifest.json"})
      fs::remove(dir_.file(std::string("cache/") + name));
  }
  std::vector<std::string> words = merge;
  words.insert(words.end(), {"--set", "output.parts=one", "--parts", "many"});
  EXPECT_EQ(encode(words).exit_code, 0);
  EXPECT_TRUE(fs::exists(dir_.file("cache/embeddings_embeddings.parts.json"))) << "the flag counts";
  EXPECT_FALSE(fs::exists(dir_.file(matrix)));
}

TEST_F(ShardCommands, TablesForOneFileAreRefusedBeforeAnythingIsEncoded) {
  const std::vector<std::string> tables = {
      "--config",        "run.yaml", "--set",       "output.parts=one",
      "--output-format", "parquet",  "--cache-dir", "other"};
  std::vector<std::string> words = {"shards", "plan", "--shards", "2"};
  words.insert(words.end(), tables.begin(), tables.end());
  const ProgramEnd end = encode(words);
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_THAT(end.err, HasSubstr("tables cannot be joined"));
  EXPECT_FALSE(fs::exists(dir_.file("other/shards.json")));
}

// NFS without a lock server, and Lustre without the option flock.
TEST_F(ShardCommands, AFileSystemWithoutLocksGetsEveryShard) {
  const std::vector<std::string> config = {"--config", "run.yaml", "--cache-dir", "lockless"};
  const auto call = [&](std::vector<std::string> words, int at) {
    words.insert(words.end(), config.begin(), config.end());
    return encode(words, without_locks(at));
  };
  const ProgramEnd planned = call({"shards", "plan", "--shards", "3"}, 1);
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.err, HasSubstr("has no locks"));
  // The locks may be there at first: shard 1 loses them after its first commit.
  for (const auto& [shard, at] : {std::pair("0/3", 1), {"1/3", 4}, {"2/3", 1}}) {
    const ProgramEnd end = call({"run", "--shard", shard}, at);
    ASSERT_EQ(end.exit_code, 0) << shard << end.err;
  }
  ASSERT_EQ(call({"merge", "--parts", "one"}, 1).exit_code, 0);
  ASSERT_EQ(encode({"run", "--config", "run.yaml", "--cache-dir", "whole"}).exit_code, 0);
  const char* const name = "embeddings_embeddings.npy";
  EXPECT_EQ(read_bytes(dir_.file("lockless") + "/" + name),
            read_bytes(dir_.file("whole") + "/" + name));
}

TEST_F(ShardCommands, WithoutLocksAShardIsRunByOneDevice) {
  const std::vector<std::string> several = {"run", "--config",  "run.yaml", "--shard",
                                            "0/3", "--devices", "cpu,cpu"};
  const ProgramEnd devices = encode(several, without_locks(1));
  EXPECT_EQ(devices.exit_code, 74);
  EXPECT_THAT(devices.err, HasSubstr("give each run of a shard one device"));
  EXPECT_EQ(encode(several).exit_code, 0) << "the control";
}

TEST_F(ShardCommands, WithoutLocksCleanMustBeToldAnAge) {
  const std::vector<std::string> shard = {"run", "--config", "run.yaml", "--shard", "0/3"};
  ASSERT_EQ(encode(shard, {{"FAKE_WORKER", "69:0:9"}}).exit_code, 69);
  for (const auto& entry : fs::directory_iterator(dir_.file("cache/shards/00000"))) {
    if (!entry.is_directory()) continue;
    fs::remove(entry.path() / "status.json");  // it may be at work on another machine
    write_bytes(entry.path() / "LOCK", R"({"pid":1,"host":"node7","started":""})");
  }
  run_shard(0);
  const auto clean = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"shards", "clean", "--config", "run.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return encode(words, without_locks(1));
  };
  const ProgramEnd refused = clean({});
  EXPECT_EQ(refused.exit_code, 74);
  EXPECT_THAT(refused.err, HasSubstr("--older-than 1d"));
  EXPECT_EQ(clean({"--dry-run"}).exit_code, 0);
  const ProgramEnd young = clean({"--older-than", "1d"});
  EXPECT_EQ(young.exit_code, 0) << young.err;
  EXPECT_THAT(young.out, HasSubstr("may be at work"));
  EXPECT_THAT(young.out, Not(HasSubstr("deleted")));
  const ProgramEnd end = clean({"--older-than", "0s"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("deleted"));
  EXPECT_EQ(encode(shard).exit_code, 0) << "the part is still there";
  for (const int64_t other : {1, 2}) run_shard(other);
  EXPECT_EQ(encode({"merge", "--config", "run.yaml"}).exit_code, 0);
}

TEST_F(ShardCommands, CleanSaysWhatItDeletes) {
  const ProgramEnd end = encode({"shards", "clean", "--config", "run.yaml", "--dry-run"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(end.out, "0 B would be free\n");
  for (const char* wrong : {"1", "d", "-1d", "1w", "1dd", ""}) {
    const ProgramEnd refused =
        encode({"shards", "clean", "--config", "run.yaml", "--older-than", wrong});
    EXPECT_EQ(refused.exit_code, 64) << wrong;
  }
  const ProgramEnd json =
      encode({"shards", "clean", "--config", "run.yaml", "--older-than", "2h", "--json"});
  EXPECT_EQ(Json::parse(json.out)["freed_bytes"], 0);
}

TEST_F(ShardCommands, AReportOfAMergedMatrixNamesAPart) {
  for (const int64_t shard : {0, 1, 2}) run_shard(shard);
  ASSERT_EQ(encode({"merge", "--config", "run.yaml"}).exit_code, 0);
  const std::string list = "cache/embeddings_embeddings.parts.json";
  const ProgramEnd end = encode({"report", list});
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("encode report cache/embeddings_embeddings-00000-of-00003.npy"));
}

}  // namespace
}  // namespace encode::testing
