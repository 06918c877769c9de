// Tests the commands of `encode`, with the fake worker.
#include <algorithm>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/npy.h"
#include "model_dir/architecture_table.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Cli : public ::testing::Test {
 protected:
  ProgramEnd encode(const std::vector<std::string>& arguments) {
    return Program(dir_.path(), arguments).wait();
  }
  std::vector<std::string> run_flags() {
    dir_.write("texts.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\":\"c\"}\n");
    return run_words(dir_.file("texts.jsonl"), dir_.file("out.npy"));
  }
  std::string config() {
    dir_.write("texts.txt", "a\nb\n");
    return dir_.write(
        "c.yaml",
        "semantic:\n  model: " + test_data("models/bert") + "\n  cache_dir: " + dir_.file("cache") +
            "\noutput: {combine: [tc, commit]}\ndata:\n  splits:\n    train:\n      tc: " +
            dir_.file("texts.txt") + "\n      commit: " + dir_.file("texts.txt") + "\n");
  }

  TempDir dir_;
};

std::string in_one_line(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

TEST_F(Cli, ModelsListsEveryArchitecture) {
  const ProgramEnd end = encode({"models"});
  EXPECT_EQ(end.exit_code, 0);
  for (const ArchitectureEntry& architecture : kArchitectures) {
    EXPECT_THAT(end.out, HasSubstr("\n" + std::string(architecture.model_type) + " "));
    EXPECT_THAT(in_one_line(end.out), HasSubstr(std::string(architecture.notes.examples)));
  }
}

TEST_F(Cli, ModelsInJsonTellsExamplesFromTheModelsTheyAreTrainedFrom) {
  const ProgramEnd end = encode({"models", "--json"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  const Json list = Json::parse(end.out);
  ASSERT_EQ(list.size(), kArchitectures.size());
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].at("model_type"), kArchitectures[i].model_type);
    EXPECT_GT(list[i].at("examples").size() + list[i].at("bases").size(), 0U);
    for (const char* key : {"examples", "bases"}) {
      for (const Json& name : list[i].at(key))
        EXPECT_THAT(name.get<std::string>(), ::testing::Not(HasSubstr(" "))) << "one name";
    }
  }
}

TEST_F(Cli, VersionSaysHowTheProgramWasBuilt) {
  const ProgramEnd text = encode({"--version"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, ::testing::MatchesRegex("encode [0-9.]+\ncommit +[0-9a-z-]+ of 20.*"));
  EXPECT_EQ(encode({"version"}).out, text.out);
  const ProgramEnd json = encode({"--version", "--json"});
  const Json facts = Json::parse(json.out);
  for (const char* key : {"version", "commit", "commit_date", "compiler", "build_type", "processor",
                          "libtorch", "arrow", "cuda", "cpu_instruction_set"}) {
    EXPECT_TRUE(facts.at(key).is_string()) << key;
    EXPECT_THAT(text.out, HasSubstr(facts.at(key).get<std::string>())) << key;
  }
  for (const Json& architecture : facts.at("cuda_architectures"))
    EXPECT_THAT(text.out, HasSubstr(architecture.get<std::string>()));
  EXPECT_THAT(facts.at("cpu_instruction_sets"), ::testing::Contains("baseline"));
  EXPECT_EQ(encode({"--version", "--nonsense"}).exit_code, 64);
}

TEST_F(Cli, CompletionsOfAnUnknownShellAreRefused) {
  const ProgramEnd end = encode({"completions", "csh"});
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("bash, zsh or fish"));
}

TEST_F(Cli, HelpOfEveryVerbStartsAtOnce) {
  const std::string help = encode({"--help"}).out;
  const std::regex entry(R"(\n  ([a-z][a-z-]*) )");
  const size_t begin = help.find("\nCommands:\n") + 1;
  const std::string list = help.substr(begin, help.find("\n\n", begin) - begin);
  std::vector<std::string> commands = {""};
  for (std::sregex_iterator at(list.begin(), list.end(), entry), end; at != end; ++at)
    commands.push_back((*at)[1]);
  EXPECT_GT(commands.size(), 20U);
  for (const std::string& command : commands) {
    std::vector<std::string> arguments = {"--help"};
    if (!command.empty()) arguments.insert(arguments.begin(), command);
    // Takes the lowest processor time of five runs, because the machine may be busy.
    double best = 1;
    for (int i = 0; i < 5; ++i) {
      const ProgramEnd end = encode(arguments);
      EXPECT_EQ(end.exit_code, 0) << command;
      EXPECT_THAT(end.out, HasSubstr(command));
      best = std::min(best, end.cpu_seconds);
    }
    EXPECT_LT(best, 0.05) << command;
  }
}

TEST_F(Cli, StatusEndsWith0HoweverTheRunEnded) {
  const std::string file = config();
  EXPECT_EQ(encode({"status", "--config", file}).exit_code, 66) << "there is no directory yet";
  const ProgramEnd failed =
      Program(dir_.path(), {"run", "--config", file}, {{"FAKE_WORKER", "69:0:1"}}).wait();
  EXPECT_EQ(failed.exit_code, 69);
  const ProgramEnd text = encode({"status", "--config", file, "--watch"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("error     [device.absent]"));
  EXPECT_THAT(text.out, HasSubstr("encode run --config " + file));
  const ProgramEnd json = encode({"status", dir_.file("cache"), "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out).at("state"), "failed");
  ASSERT_EQ(encode({"run", "--config", file}).exit_code, 0);
  EXPECT_EQ(Json::parse(encode({"status", dir_.file("cache"), "--json"}).out).at("state"), "done");
}

TEST_F(Cli, TokenizeWritesIdsAndTellsHowLongTheRowsAre) {
  const std::string input = dir_.write("texts.txt", "a\none two three four five six seven\n\n");
  const std::vector<std::string> arguments = {"tokenize",
                                              "--tokenizer",
                                              test_data("tokenizer/wordpiece/tokenizer.json"),
                                              "--input",
                                              input,
                                              "--output",
                                              dir_.file("ids.jsonl"),
                                              "--tokens",
                                              "--offsets"};
  const ProgramEnd whole = encode(arguments);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("3 rows"));
  EXPECT_THAT(whole.out, HasSubstr("no truncation"));
  const std::string first_line = read_bytes(dir_.file("ids.jsonl")).substr(0, 200);
  const Json row = Json::parse(first_line.substr(0, first_line.find('\n')));
  EXPECT_EQ(row["row"], 0);
  EXPECT_EQ(row["input_ids"].size(), 3U);
  EXPECT_EQ(row["tokens"], Json::parse(R"(["[CLS]","a","[SEP]"])"));
  EXPECT_EQ(row["offsets"], Json::parse("[[0,0],[0,1],[0,0]]"));

  std::vector<std::string> shorter = arguments;
  shorter.insert(shorter.end(), {"--max-length", "4", "--overwrite"});
  const ProgramEnd cut = encode(shorter);
  ASSERT_EQ(cut.exit_code, 0) << cut.err;
  EXPECT_THAT(cut.out, HasSubstr("truncated at 4: 1 row (33.3 %)"));
  EXPECT_THAT(cut.out, HasSubstr("2 to 3           2   66.7 %  ####"));
}

TEST_F(Cli, TokenizeTruncatesAsTheModelDoes) {
  for (const std::string name : {"config.json", "model.safetensors"})
    dir_.write(name, read_bytes(test_data("models/bert/" + name)));
  dir_.write("tokenizer.json", read_bytes(test_data("tokenizer/wordpiece/tokenizer.json")));
  const TempDir elsewhere;  // encode replaces no file in the directory of a model
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "word ";
  std::vector<std::string> arguments = {"tokenize",
                                        "--model",
                                        dir_.path(),
                                        "--input",
                                        dir_.write("texts.txt", text + "\n"),
                                        "--output",
                                        elsewhere.file("ids.jsonl")};
  EXPECT_THAT(encode(arguments).out, HasSubstr("1 row (100.0 %)"));
  arguments.insert(arguments.end(), {"--no-truncation", "--overwrite"});
  EXPECT_THAT(encode(arguments).out, HasSubstr("no truncation"));
  arguments.insert(arguments.end(), {"--max-length", "8"});
  EXPECT_EQ(encode(arguments).exit_code, 64);
}

TEST_F(Cli, RunWithFlagsOnly) {
  const ProgramEnd end = encode(run_flags());
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(read_npy_header(dir_.file("out.npy")).rows, 3);
  EXPECT_THAT(end.out, HasSubstr("no row was lost: rows read = written + rejected"));
}

TEST_F(Cli, ConfigWithoutAVerbIsRun) {
  const ProgramEnd end = encode({"--config", config()});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(read_npy_header(dir_.file("cache/train_combined_embeddings.npy")).cols, 128);
}

TEST_F(Cli, FlagsBeatTheConfig) {
  const ProgramEnd end =
      encode({"config", "--config", config(), "--dtype", "bfloat16", "--no-normalize"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("dtype: bfloat16"));
  EXPECT_THAT(end.out, HasSubstr("--dtype"));
  EXPECT_THAT(end.out, HasSubstr("normalize: false"));
}

TEST_F(Cli, SchemaIsJson) {
  EXPECT_TRUE(Json::parse(encode({"config", "--schema"}).out).contains("$schema"));
}

TEST_F(Cli, JsonModePrintsNothingElse) {
  std::vector<std::string> flags = run_flags();
  flags.emplace_back("--json");
  const ProgramEnd end = encode(flags);
  EXPECT_THAT(end.err, IsEmpty());
  std::istringstream lines(end.out);
  std::string last;
  for (std::string line; std::getline(lines, line);) last = Json::parse(line).at("event");
  EXPECT_EQ(last, "summary");
}

TEST_F(Cli, QuietRunSaysNothing) {
  std::vector<std::string> flags = run_flags();
  flags.emplace_back("--quiet");
  const ProgramEnd end = encode(flags);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.out + end.err, IsEmpty());
}

TEST_F(Cli, VerifyByConfigAndByFile) {
  const std::string path = config();
  encode({"--config", path});
  const ProgramEnd good = encode({"verify", "--config", path});
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  const std::string tc = dir_.file("cache/train_tc_embeddings.npy");
  EXPECT_EQ(encode({"verify", tc}).exit_code, 0);
  std::string bytes = read_bytes(tc);
  bytes[200] ^= 1;
  write_bytes(tc, bytes);
  EXPECT_EQ(encode({"verify", "--config", path}).exit_code, 65);
  EXPECT_EQ(Json::parse(encode({"verify", "--json", tc}).out).at("exit_code"), 65);
}

TEST_F(Cli, PlanRefusesTextsForAModelWithoutATokenizer) {
  const ProgramEnd end = encode({"plan", "--config", config()});
  EXPECT_EQ(end.exit_code, 66) << end.signal;
  EXPECT_THAT(end.err, HasSubstr("error[tokenizer.file]"));
}

// The disk needs no second place for what a finished experiment has written.
TEST_F(Cli, PlanCountsTheMatricesAndTheCombinedMatrixThatAreThere) {
  const std::string path = config();
  // The model has no tokenizer, so the rows are token ids.
  dir_.write("texts.jsonl", "{\"ids\":[1]}\n{\"ids\":[2]}\n");
  std::string text = read_bytes(path);
  text.insert(text.find("  splits:\n"),
              "  streams:\n    tc: {field: ids}\n    commit: {field: ids}\n");
  for (size_t at = 0; (at = text.find("texts.txt")) != std::string::npos;)
    text.replace(at, std::string("texts.txt").size(), "texts.jsonl");
  dir_.write("c.yaml", text);
  const auto disk = [&] {
    const ProgramEnd end = encode({"plan", "--config", path, "--json"});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return Json::parse(end.out).at("disk");
  };
  const Json before = disk();
  EXPECT_EQ(before["existing_bytes"], 0);
  ASSERT_EQ(encode({"--config", path}).exit_code, 0);
  const Json after = disk();
  EXPECT_EQ(after["final_bytes"], before["final_bytes"]);
  EXPECT_GT(after["combined_bytes"], 0);
  EXPECT_EQ(after["existing_bytes"].get<int64_t>(),
            after["final_bytes"].get<int64_t>() + after["combined_bytes"].get<int64_t>());
  EXPECT_EQ(after["peak_bytes"], after["record_bytes"]);
}

TEST_F(Cli, VerifyFindsThatTheInputHasGrown) {
  const std::string path = config();
  encode({"--config", path});
  dir_.write("texts.txt", "a\nb\nc\n");
  EXPECT_EQ(encode({"verify", "--config", path}).exit_code, 65);
}

TEST_F(Cli, CompareTellsEqualFromDifferent) {
  encode(run_flags());
  const std::string out = dir_.file("out.npy");
  EXPECT_EQ(encode({"compare", out, out, "--max-difference", "0"}).exit_code, 0);
  std::string bytes = read_bytes(out);
  bytes[bytes.size() - 2] ^= 1;
  const std::string other = dir_.write("other.npy", bytes);
  EXPECT_EQ(encode({"compare", out, other, "--max-difference", "0"}).exit_code, 65);
}

}  // namespace
}  // namespace encode::testing
