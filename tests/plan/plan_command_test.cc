// Tests `encode plan` with whole commands.
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

constexpr const char* kBertBase =
    R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
        "intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512})";

class PlanCommand : public ::testing::Test {
 protected:
  PlanCommand() {
    dir_.write("model/config.json", kBertBase);
    dir_.write("model/model.safetensors", read_bytes(test_data("models/bert/model.safetensors")));
    std::string ids = "7";
    for (int i = 1; i < 512; ++i) ids += ",7";
    std::string rows;
    for (int i = 0; i < 7; ++i) rows += "{\"text\":[" + ids + "]}\n";
    rows += "{\"text\":[5,6]}\n";
    dir_.write("ids.jsonl", rows);
    dir_.write("c.yaml", config());
  }

  std::string config() const {
    return "# an experiment\nsemantic:\n  model: " + dir_.file("model") +
           "   # a model\n  dtype: bfloat16\n  cache_dir: " + dir_.file("cache") +
           "\n  batch_size: 8  # a guess\ndata:\n  streams:\n    tc: {field: text}\n  splits:\n"
           "    train:\n      tc: " +
           dir_.file("ids.jsonl") + "\n";
  }

  ProgramEnd plan(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", "--config", dir_.file("c.yaml")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Program(dir_.path(), arguments, environment_).wait();
  }
  Json plan_json(std::vector<std::string> more) {
    more.emplace_back("--json");
    const ProgramEnd end = plan(more);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.exit_code == 0 ? Json::parse(end.out) : Json();
  }

  TempDir dir_;
  Program::Environment environment_ = {{"XDG_CACHE_HOME", dir_.file("home")}};
};

TEST_F(PlanCommand, FindsABatchThatFillsMostOfTheCard) {
  const Json json = plan_json({"--gpu-memory", "24GB", "--rows", "100000"});
  const Json& stream = json["devices"][0]["streams"][0];
  EXPECT_GE(stream["memory_share"], 0.80);
  EXPECT_LE(stream["memory_share"], 0.85);
  EXPECT_EQ(stream["batch_tokens"].get<int64_t>() % 8192, 0) << "whole launches";
  EXPECT_EQ(stream["rows"], 100'000);
  EXPECT_GE(stream["prices"].size(), 3U);
  EXPECT_GT(json["disk"]["final_bytes"], 0);
  EXPECT_GT(stream["padding"]["longest"], 1);
  EXPECT_TRUE(json["seconds"].is_null()) << "the rate of a card without a name is not known";
}

TEST_F(PlanCommand, SaysWhatAKillCosts) {
  const std::vector<std::string> card = {"--gpu", "a100 80gb", "--rows", "1000000"};
  const Json stream = plan_json(card)["devices"][0]["streams"][0];
  const int64_t rows = stream["lost_rows"];
  EXPECT_GE(rows, stream["chunk_size"].get<int64_t>());
  EXPECT_LT(rows, 1'000'000);
  const double seconds = stream["lost_seconds"];
  EXPECT_NEAR(seconds, stream["seconds"].get<double>() * static_cast<double>(rows) / 1e6,
              0.01 * seconds);
  EXPECT_THAT(plan(card).out,
              ::testing::ContainsRegex("chunk_size +[0-9]+  \\(a kill loses at most [0-9,]+ rows, "
                                       "about [0-9a-z. ]+ of work\\)"));
}

TEST_F(PlanCommand, TheDiskIsTheSumOfItsParts) {
  const Json disk = plan_json({"--gpu-memory", "24GB", "--rows", "100000"})["disk"];
  int64_t sum = 0;
  for (const char* part :
       {"chunk_bytes", "float32_bytes", "final_bytes", "combined_bytes", "record_bytes"})
    sum += disk[part].get<int64_t>();
  EXPECT_EQ(disk["peak_bytes"], sum - disk["existing_bytes"].get<int64_t>());
  EXPECT_THAT(plan({"--gpu-memory", "24GB", "--rows", "100000"}).out,
              ::testing::ContainsRegex("disk +614.5 MB = chunks 307.2 MB . matrices 307.2 MB . log "
                                       "and records 0.1 MB, at once"));
}

// A flag asks for a plan with this size. A number in the config may be replaced by the plan.
TEST_F(PlanCommand, TakesTheSizeOfTheChunksFromAFlag) {
  std::vector<std::string> card = {"--gpu", "a100 80gb", "--rows", "1000000"};
  const int64_t best = plan_json(card)["devices"][0]["streams"][0]["chunk_size"];
  EXPECT_NE(best, 7000);
  card.insert(card.end(), {"--chunk-size", "7000"});
  const Json json = plan_json(card);
  EXPECT_EQ(json["devices"][0]["streams"][0]["chunk_size"], 7000);
  EXPECT_EQ(json["settings"]["semantic.chunk_size"], "7000");
  card.back() = "auto";
  EXPECT_EQ(plan_json(card)["devices"][0]["streams"][0]["chunk_size"], best);
}

TEST_F(PlanCommand, SaysWhyABatchIsNotTheOneThatWasAskedFor) {
  const std::vector<std::string> asked = {"--gpu", "a100 80gb", "--batch-size", "100000"};
  EXPECT_THAT(plan_json(asked)["devices"][0]["streams"][0]["batch_note"].get<std::string>(),
              HasSubstr("the default of --batch-tokens limits a batch to 16,384 tokens"));
  const std::string text = plan(asked).out;
  EXPECT_THAT(text, HasSubstr("--batch-size 100000 stands for 51,200,000 tokens"));
  EXPECT_THAT(text, Not(HasSubstr("the command line asks for it")));
  EXPECT_THAT(plan({"--device", "cpu", "--batch-size", "100000"}).out,
              HasSubstr("a batch on a CPU has at most 512 tokens"));
}

TEST_F(PlanCommand, ListsTheCards) {
  const ProgramEnd end = Program(dir_.path(), {"plan", "--gpu", "list"}, environment_).wait();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("A100-80GB"));
}

TEST_F(PlanCommand, ANamedCardHasATime) {
  const Json json = plan_json({"--gpu", "a100 80gb", "--rows", "100000"});
  EXPECT_GT(json["seconds"], 0);
  EXPECT_THAT(json["devices"][0]["streams"][0]["rate"]["source"].get<std::string>(),
              HasSubstr("assumed"));
}

// The rate is not measured, so one figure would claim too much.
TEST_F(PlanCommand, ATimeWithoutAProfileIsARange) {
  const Json json = plan_json({"--gpu", "a100 80gb", "--rows", "10000000"});
  const double seconds = json["seconds"];
  ASSERT_EQ(json["seconds_range"].size(), 2U);
  EXPECT_LT(json["seconds_range"][0].get<double>(), seconds);
  EXPECT_GT(json["seconds_range"][1].get<double>(), 2 * seconds);
  const ProgramEnd end = plan({"--gpu", "a100 80gb", "--rows", "10000000"});
  EXPECT_THAT(end.out, ::testing::ContainsRegex("time +[0-9][^(]* to [0-9].*assumed: 10 to 60 %"));
}

class PlanWithoutTexts : public PlanCommand {
 protected:
  ProgramEnd plan_model(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", "--model", dir_.file("model")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Program(dir_.path(), arguments, environment_).wait();
  }
};

TEST_F(PlanWithoutTexts, IsForRowsOfTheLongestLength) {
  const ProgramEnd end = plan_model({"--gpu-memory", "24", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const Json json = Json::parse(end.out);
  const Json& stream = json["devices"][0]["streams"][0];
  EXPECT_EQ(stream["longest_row_tokens"], 512);
  EXPECT_EQ(stream["tokens"].get<int64_t>(), 512 * stream["rows"].get<int64_t>());
  EXPECT_GE(stream["memory_share"], 0.80);
  EXPECT_TRUE(json["disk"].is_null()) << "nobody has said how many rows there are";
}

TEST_F(PlanWithoutTexts, SaysThatItHasNoTexts) {
  const ProgramEnd end = plan_model({"--gpu-memory", "24", "--max-length", "128"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("none are given: 1,000,000 rows of 128 tokens"));
  EXPECT_THAT(end.out, HasSubstr("--input plans for your texts"));
  EXPECT_THAT(end.out, Not(HasSubstr("none.txt"))) << "there is no such file";
}

// Without a rate there is no time, and nothing says how large a chunk should be.
TEST_F(PlanWithoutTexts, HasNoColumnsWithoutValues) {
  const ProgramEnd end = plan_model({"--gpu-memory", "24"});
  EXPECT_THAT(end.out, Not(HasSubstr("chunk_size")));
  EXPECT_THAT(end.out, HasSubstr("not known, because its memory does not tell how fast a GPU is"));
  EXPECT_THAT(end.out, Not(::testing::ContainsRegex("memory +time")));
}

TEST_F(PlanWithoutTexts, NamesFlagsForTheRun) {
  const ProgramEnd end = plan_model({"--gpu", "A10"});
  EXPECT_THAT(end.out, ::testing::ContainsRegex(
                           "for the run +--batch-size [0-9]+ --batch-tokens [0-9]+ --chunk-size"));
  EXPECT_THAT(end.out, Not(HasSubstr("semantic.")));
  EXPECT_THAT(plan({"--gpu", "A10"}).out, HasSubstr("semantic.batch_tokens "));
}

TEST_F(PlanWithoutTexts, TakesTheNumberOfRows) {
  const ProgramEnd end = plan_model({"--gpu", "A10", "--rows", "5000", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const Json json = Json::parse(end.out);
  EXPECT_EQ(json["devices"][0]["streams"][0]["rows"], 5000);
  EXPECT_GT(json["disk"]["final_bytes"], 0);
  EXPECT_GT(json["seconds"], 0);
}

TEST_F(PlanWithoutTexts, CannotBeProfiled) {
  const ProgramEnd end = plan_model({"--profile"});
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("--profile encodes texts, and none are given"));
}

// Without a model there is nothing to plan for.
TEST_F(PlanWithoutTexts, NeedsAModel) {
  const ProgramEnd end = Program(dir_.path(), {"plan", "--gpu-memory", "24"}, environment_).wait();
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("no input is given"));
}

TEST_F(PlanCommand, TheSafetyMarginLimitsTheShare) {
  const Json json =
      plan_json({"--gpu-memory", "24GB", "--rows", "100000", "--safety-margin", "0.5"});
  EXPECT_LE(json["devices"][0]["streams"][0]["memory_share"], 0.5);
}

TEST_F(PlanCommand, ALargeStepIsMadeOfMicroBatches) {
  const Json json =
      plan_json({"--gpu-memory", "16GB", "--rows", "100000", "--target-effective-batch", "100000"});
  const Json& micro = json["devices"][0]["streams"][0]["micro_batches"];
  EXPECT_GT(micro["batches"], 1);
  EXPECT_GE(micro["batches"].get<int64_t>() * micro["batch_rows"].get<int64_t>(), 100'000);
}

TEST_F(PlanCommand, TheReportShowsWhereTheMemoryGoes) {
  const ProgramEnd end = plan({"--gpu", "H100"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  for (const char* part : {"weights", "activations", "attention workspace", "CUDA context",
                           "batch data", "85 % of", "batch_tokens", "padding", "disk", "(half)"})
    EXPECT_THAT(end.out, HasSubstr(part));
}

TEST_F(PlanCommand, PlansForTheCpu) {
  const Json json = plan_json({"--device", "cpu"});
  const Json& device = json["devices"][0];
  EXPECT_EQ(device["place"], "cpu");
  EXPECT_EQ(device["streams"][0]["batch_tokens"], 512);
  EXPECT_GE(device["streams"][0]["threads"], 1);
  EXPECT_FALSE(json["settings"].contains("semantic.batch_size")) << "a GPU may run this config";
  EXPECT_TRUE(json["settings"].contains("hardware.threads"));
}

TEST_F(PlanCommand, ShowsTheMemoryLimitOfTheRun) {
  const std::vector<std::string> limited = {"--device", "cpu", "--memory-limit", "1GB"};
  const Json device = plan_json(limited)["devices"][0];
  EXPECT_EQ(device["usable_bytes"], 1'000'000'000);
  EXPECT_LE(device["streams"][0]["memory"]["total_bytes"], 1'000'000'000);
  EXPECT_THAT(plan(limited).out, HasSubstr("from --memory-limit"));
  const ProgramEnd gpu = plan({"--gpu", "H100", "--memory-limit", "3GB"});
  EXPECT_THAT(gpu.out, HasSubstr("the limit is 3.0 GB"));
}

// The stand-in for the driver has GPUs of which other processes use a part.
TEST_F(PlanCommand, GoesByTheFreeMemoryOfEveryGpuOfThisMachine) {
  environment_["LD_LIBRARY_PATH"] = built_file("nvml_stand_in");
  environment_["NVML_GPUS"] = "2";
  environment_["NVML_MEMORY_USED"] = "40000000000|500000000";
  environment_["NVML_PROCESSES"] = "1";
  const Json json = plan_json({"--auto", "--device", "auto"});
  ASSERT_GE(json["devices"].size(), 1U);
  for (const Json& device : json["devices"]) {
    EXPECT_THAT(device["place"].get<std::string>(), HasSubstr("cuda:"));
    EXPECT_LT(device["free_bytes"], device["total_bytes"]);
    EXPECT_FALSE(device["in_use"].empty());
    EXPECT_LE(device["streams"][0]["memory"]["total_bytes"], device["usable_bytes"]);
  }
}

TEST_F(PlanCommand, PlansForTheGpusThatDevicesNames) {
  environment_["LD_LIBRARY_PATH"] = built_file("nvml_stand_in");
  environment_["NVML_GPUS"] = "2";
  const Json devices = plan_json({"--devices", "cuda:1,cuda:1"})["devices"];
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0]["place"], "cuda:1");
}

TEST_F(PlanCommand, ApplyChangesOnlyTheNumbersAndUndoBringsEveryByteBack) {
  const std::string before = read_bytes(dir_.file("c.yaml"));
  const ProgramEnd applied = plan({"--gpu-memory", "24GB", "--rows", "100000", "--apply"});
  ASSERT_EQ(applied.exit_code, 0) << applied.err;
  const std::string after = read_bytes(dir_.file("c.yaml"));
  EXPECT_NE(after, before);
  for (const char* kept : {"# an experiment", "# a model", "# a guess", "dtype: bfloat16"})
    EXPECT_THAT(after, HasSubstr(kept));
  EXPECT_THAT(applied.err, HasSubstr("-  batch_size: 8  # a guess"));
  const ProgramEnd undone = plan({"--undo"});
  ASSERT_EQ(undone.exit_code, 0) << undone.err;
  EXPECT_EQ(read_bytes(dir_.file("c.yaml")), before);
}

TEST_F(PlanCommand, ApplyAlsoChangesTheNumbersOfASingleStream) {
  std::string text = config();
  text.replace(text.find("{field: text}"), 13, "{field: text, batch_size: 3}");
  dir_.write("c.yaml", text);
  const ProgramEnd applied =
      plan({"--gpu-memory", "24GB", "--rows", "100000", "--apply", "--json"});
  ASSERT_EQ(applied.exit_code, 0) << applied.err;
  const Json settings = Json::parse(applied.out)["settings"];
  const std::string rows = settings["semantic.batch_size"].get<std::string>();
  EXPECT_NE(rows, "3");
  EXPECT_EQ(settings["data.streams.tc.batch_size"], rows);
  EXPECT_THAT(read_bytes(dir_.file("c.yaml")),
              HasSubstr("{field: text, batch_size: " + rows + "}"));
}

TEST_F(PlanCommand, RefusesWhatItCannotDo) {
  for (const auto& [arguments, code] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--gpu-memory", "24GB", "--profile"}, "plan.profile"},
           {{"--device", "cuda:7"}, "device.absent"},
           {{"--undo"}, "config.undo"}}) {
    const ProgramEnd end = plan(arguments);
    EXPECT_NE(end.exit_code, 0);
    EXPECT_THAT(end.err, HasSubstr("error[" + code + "]"));
  }
  const ProgramEnd end =
      Program(dir_.path(), {"plan", "--model", dir_.file("model"), "--input", "-", "--format",
                            "lines", "--output", dir_.file("o.npy")})
          .wait();
  EXPECT_THAT(end.err, HasSubstr("error[plan.stdin]"));
}

TEST_F(PlanCommand, ADamagedFileOfProfilesIsANote) {
  dir_.write("home/encode/memory_profiles.json", "{");
  const ProgramEnd end = plan({"--gpu-memory", "24GB"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.out, HasSubstr("earlier profiles are not used"));
}

}  // namespace
}  // namespace encode::testing
