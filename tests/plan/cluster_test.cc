// Tests `encode plan --nodes N --gpus G` with whole commands.
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ClusterPlan : public ::testing::Test {
 protected:
  ClusterPlan() {
    dir_.write("model/config.json",
               R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,
                   "num_attention_heads":12,"intermediate_size":3072,"vocab_size":30522,
                   "max_position_embeddings":512})");
    dir_.write("model/model.safetensors", read_bytes(test_data("models/bert/model.safetensors")));
    std::string ids = "7";
    for (int i = 1; i < 100; ++i) ids += ",7";
    std::string rows;
    for (int i = 0; i < 8; ++i) rows += "{\"text\":[" + ids + "]}\n";
    dir_.write("ids.jsonl", rows);
    dir_.write("c.yaml",
               fmt::format("semantic: {{model: {}, dtype: bfloat16, cache_dir: {}}}\n"
                           "input: {{file: {}, field: text}}\n",
                           dir_.file("model"), dir_.file("cache"), dir_.file("ids.jsonl")));
  }

  ProgramEnd plan(const std::vector<std::string>& more, const char* rows = "100000000") {
    std::vector<std::string> words = {
        "plan", "--config", dir_.file("c.yaml"), "--gpu", "H100-80GB", "--rows", rows};
    words.insert(words.end(), more.begin(), more.end());
    return Program(dir_.path(), words, {{"XDG_CACHE_HOME", dir_.file("home")}}).wait();
  }
  // A plan for 10^8 rows of 100 tokens.
  Json cluster(std::vector<std::string> more) {
    more.emplace_back("--json");
    const ProgramEnd end = plan(more);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.exit_code == 0 ? Json::parse(end.out)["cluster"] : Json();
  }
  static double seconds_of(const Json& cluster, const std::string& step) {
    for (const Json& one : cluster["steps"]) {
      if (one["step"] == step) return one["seconds"];
    }
    ADD_FAILURE() << "no step " << step;
    return 0;
  }

  TempDir dir_;
};

const std::vector<std::string> kFourNodes = {"--nodes", "4", "--gpus", "8", "--tokens-per-second",
                                             "100000"};

TEST_F(ClusterPlan, EveryStepHasAPriceAndTheWholeIsTheirSum) {
  const Json json = cluster(kFourNodes);
  double sum = 0;
  double longest = 0;
  for (const std::string step : {"scan", "encode", "merge"}) {
    EXPECT_GT(seconds_of(json, step), 0) << step;
    sum += seconds_of(json, step);
    longest = std::max(longest, seconds_of(json, step));
  }
  EXPECT_NEAR(json["seconds"].get<double>(), sum, 1e-6);
  EXPECT_EQ(seconds_of(json, json["bottleneck"]), longest);
  const double hours = 1e8 * 100 / 1e5 / 3600;
  EXPECT_GT(json["gpu_hours"], hours);
  EXPECT_LT(json["gpu_hours"], hours * 1.02) << "the starts of the shards";
  const double vectors = 1e8 * 768 * 4;
  EXPECT_EQ(json["disk"]["part_bytes"], vectors);
  EXPECT_GT(json["disk"]["chunk_bytes"], 0);
  EXPECT_EQ(json["storage"]["written_bytes"], 2 * vectors) << "chunks and parts";
  EXPECT_GT(json["storage"]["read_bytes"], 2 * vectors) << "chunks, parts, and the texts twice";
}

// A dry run of Necmttn/ax priced one stage of many, and the run took three times as long (issue
// 831). More GPUs shorten the encoding only.
TEST_F(ClusterPlan, TheScanAndTheMergeStayWithAnyNumberOfGpus) {
  const auto with_nodes = [&](const char* nodes) {
    return cluster({"--nodes", nodes, "--gpus", "8", "--tokens-per-second", "100000",
                    "--storage-rate", "10TB"});
  };
  const Json few = with_nodes("1");
  const Json many = with_nodes("100");
  for (const std::string step : {"scan", "merge"})
    EXPECT_EQ(seconds_of(few, step), seconds_of(many, step)) << step;
  EXPECT_GT(seconds_of(few, "encode"), 80 * seconds_of(many, "encode"));
  EXPECT_GT(many["seconds"], seconds_of(many, "scan") + seconds_of(many, "merge"));
}

// SemiAnalysisAI/InferenceX counted the GPUs of a node once (issue 2714).
TEST_F(ClusterPlan, EveryGpuOfEveryNodeCounts) {
  const auto encode_seconds = [&](const char* nodes, const char* gpus) {
    return seconds_of(cluster({"--nodes", nodes, "--gpus", gpus, "--tokens-per-second", "100000"}),
                      "encode");
  };
  const double eight = encode_seconds("1", "8");
  EXPECT_EQ(encode_seconds("8", "1"), eight);
  EXPECT_EQ(encode_seconds("2", "4"), eight);
  EXPECT_NEAR(encode_seconds("2", "8") / eight, 0.5, 0.01);
}

TEST_F(ClusterPlan, AShardTakesFiveToThirtyMinutesAndNoGpuIsIdleInTheLastRound) {
  for (const auto& [nodes, gpus] : {std::pair(1, 1), {1, 8}, {4, 8}, {7, 3}}) {
    const Json json = cluster({"--nodes", fmt::to_string(nodes), "--gpus", fmt::to_string(gpus),
                               "--tokens-per-second", "100000"});
    EXPECT_GE(json["shard_seconds"], 5 * 60) << nodes;
    EXPECT_LE(json["shard_seconds"], 30 * 60) << nodes;
    EXPECT_EQ(json["shards"].get<int64_t>() % (nodes * gpus), 0);
    EXPECT_LE(json["fewest_shards"], json["shards"]);
    EXPECT_GE(json["most_shards"], json["shards"]);
  }
  // 10^8 rows are a minute of work for so many GPUs.
  const Json many = cluster({"--nodes", "1000", "--gpus", "2", "--tokens-per-second", "100000"});
  EXPECT_EQ(many["shards"], 2000);
}

TEST_F(ClusterPlan, AStorageThatIsTooSlowIsTheBottleneck) {
  const auto limit = [&](const char* rate) {
    std::vector<std::string> words = kFourNodes;
    words.insert(words.end(), {"--storage-rate", rate});
    return cluster(words)["steps"][1]["limited_by"];
  };
  EXPECT_EQ(limit("50MB"), "the storage");
  EXPECT_EQ(limit("100GB"), "the GPUs");
  const Json json = cluster(kFourNodes);
  EXPECT_EQ(json["storage"]["basis"], "assumed");
}

TEST_F(ClusterPlan, OneFileIsACopyAndNeedsItsSpace) {
  std::vector<std::string> words = kFourNodes;
  const Json many = cluster(words);
  words.insert(words.end(), {"--set", "output.parts=one"});
  const Json one = cluster(words);
  EXPECT_EQ(many["disk"]["merge_bytes"], 0);
  EXPECT_EQ(one["disk"]["merge_bytes"], one["disk"]["part_bytes"]);
  EXPECT_GT(one["disk"]["peak_bytes"], many["disk"]["peak_bytes"]);
  EXPECT_GT(seconds_of(one, "merge"), seconds_of(many, "merge"));
}

TEST_F(ClusterPlan, SaysWhereTheSpeedComesFrom) {
  EXPECT_EQ(cluster(kFourNodes)["speed"]["basis"], "given");
  const Json assumed = cluster({"--nodes", "2"});
  EXPECT_EQ(assumed["speed"]["basis"], "assumed");
  EXPECT_LT(assumed["seconds_range"][0], assumed["seconds_range"][1]);
  dir_.write("bench.json",
             R"({"device":"cuda:0 NVIDIA H100","results":[
                 {"dtype":"float32","encoding_tokens_per_second":{"median":7.0}},
                 {"dtype":"bfloat16","encoding_tokens_per_second":{"median":100000.0}}]})");
  const Json measured =
      cluster({"--nodes", "4", "--gpus", "8", "--bench", dir_.file("bench.json")});
  EXPECT_EQ(measured["speed"]["source"], "encode bench on cuda:0 NVIDIA H100: 100.0k tokens/s");
  EXPECT_EQ(measured["seconds"], cluster(kFourNodes)["seconds"]);
  EXPECT_THAT(plan(kFourNodes).out, HasSubstr("given: 100.0k tokens/s"));
}

TEST_F(ClusterPlan, ARecordThatHasNoSpeedIsRefused) {
  const auto refused = [&](const std::string& record) {
    dir_.write("bench.json", record);
    return plan({"--nodes", "2", "--bench", dir_.file("bench.json")});
  };
  const ProgramEnd other = refused(R"({"device":"d","results":[{"dtype":"float32",
                  "encoding_tokens_per_second":{"median":7.0}}]})");
  EXPECT_EQ(other.exit_code, 65);
  EXPECT_THAT(other.err, HasSubstr("plan.speed"));
  EXPECT_THAT(other.err, HasSubstr("encode bench --dtype bfloat16"));
  for (const char* wrong : {"", "[]", "{}", R"({"device":"d","results":[3]})",
                            R"({"device":"d","results":[{"dtype":"bfloat16",
                                "encoding_tokens_per_second":{"median":-1}}]})"})
    EXPECT_EQ(refused(wrong).exit_code, 78) << wrong;
  EXPECT_EQ(plan({"--bench", dir_.file("absent.json")}).exit_code, 66);
  EXPECT_EQ(plan({"--bench", "a", "--tokens-per-second", "3"}).exit_code, 64);
  EXPECT_EQ(plan({"--storage-rate", "3GB"}).exit_code, 64);
  EXPECT_EQ(plan({"--nodes", "0"}).exit_code, 64);
}

TEST_F(ClusterPlan, NothingIsRefusedForTheDiskOfThisMachine) {
  const char* const rows = "10000000000000";  // 31 PB of vectors
  const ProgramEnd end = plan(kFourNodes, rows);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("encode shards plan --config"));
  EXPECT_EQ(plan({"--tokens-per-second", "100000"}, rows).exit_code, 74) << "the control";
}

TEST_F(ClusterPlan, WithoutASpeedTheBytesAreStillKnown) {
  const ProgramEnd end = Program(dir_.path(),
                                 {"plan", "--config", dir_.file("c.yaml"), "--gpu-memory", "24GB",
                                  "--nodes", "2", "--rows", "1000", "--json"},
                                 {{"XDG_CACHE_HOME", dir_.file("home")}})
                             .wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const Json json = Json::parse(end.out)["cluster"];
  EXPECT_TRUE(json["seconds"].is_null());
  EXPECT_TRUE(json["shards"].is_null());
  EXPECT_EQ(json["disk"]["part_bytes"], 1000 * 768 * 4);
}

}  // namespace
}  // namespace encode::testing
