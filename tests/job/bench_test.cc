// Tests `encode bench` with the real worker on a tiny model: its figures must be consistent, and
// the user's files must not change.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "real_run.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kRows = 200;
using Words = std::vector<std::string>;

class BenchProgram : public ::testing::Test {
 protected:
  // Returns the arguments of `encode bench`. Flags in `extra` replace the defaults.
  Words arguments(const Words& extra) const {
    Words words = {"bench", "--json"};
    const auto add = [&](const char* flag, const std::string& value) {
      if (std::find(extra.begin(), extra.end(), flag) == extra.end())
        words.insert(words.end(), {flag, value});
    };
    add("--model", runs_.dir().file("model"));
    add("--cache-dir", cache());
    add("--device", "cpu");
    add("--threads", "2");
    add("--runs", "1");
    add("--product-seconds", "0.02");
    if (std::find(extra.begin(), extra.end(), "--config") == extra.end()) add("--input", texts());
    words.insert(words.end(), extra.begin(), extra.end());
    return words;
  }
  ProgramEnd bench(const Words& extra) const {
    return Program(runs_.dir().path(), arguments(extra)).wait();
  }
  Json report(const Words& extra) const {
    const ProgramEnd end = bench(extra);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return Json::parse(end.out);
  }
  std::string cache() const { return runs_.dir().file("cache"); }
  std::string texts() const { return runs_.dir().file("texts.txt"); }

  // Returns the scratch folders of all benches that are running or have left their folder behind.
  Words scratch_folders() const {
    Words found;
    for (const auto& entry : fs::directory_iterator(runs_.dir().path())) {
      if (entry.path().filename().string().find(".bench.") != std::string::npos)
        found.push_back(entry.path());
    }
    return found;
  }
  // Returns the contents and the times of all files in the cache directory.
  std::map<std::string, std::pair<std::string, fs::file_time_type>> snapshot() const {
    std::map<std::string, std::pair<std::string, fs::file_time_type>> files;
    for (const auto& entry : fs::recursive_directory_iterator(cache())) {
      files[entry.path()] = {entry.is_regular_file() ? read_bytes(entry.path()) : "",
                             entry.last_write_time()};
    }
    return files;
  }

  const RealRun runs_{"bert", kRows};
};

double median(const Json& figure) { return figure.at("median").get<double>(); }

int64_t count_tokens(const std::string& lines, int64_t rows) {
  int64_t tokens = 0;
  std::istringstream stream(lines);
  for (std::string line; rows > 0 && std::getline(stream, line); --rows)
    tokens += static_cast<int64_t>(Json::parse(line).at("input_ids").size());
  return tokens;
}

TEST_F(BenchProgram, FiguresAgreeWithEachOther) {
  constexpr int64_t kTimed = 50;
  const Json found = report({"--rows", fmt::to_string(kTimed), "--max-length", "12"});
  const std::string ids = runs_.dir().file("ids.jsonl");
  ASSERT_EQ(Program(runs_.dir().path(), {"tokenize", "--model", runs_.dir().file("model"),
                                         "--input", texts(), "--output", ids, "--max-length", "12"})
                .wait()
                .exit_code,
            0);
  EXPECT_EQ(found.at("rows"), kTimed);
  EXPECT_EQ(found.at("whole_rows"), kRows);
  EXPECT_THAT(found.at("device").get<std::string>(), HasSubstr("cpu"));
  ASSERT_EQ(found.at("results").size(), 1U);
  const Json& result = found.at("results").at(0);
  EXPECT_EQ(result.at("dtype"), "float32");
  EXPECT_EQ(result.at("threads"), 2);
  EXPECT_EQ(result.at("tokens"), count_tokens(read_bytes(ids), kTimed));
  EXPECT_GT(result.at("truncated_rows"), 0);
  EXPECT_EQ(result.at("flops_per_token"), 2 * 2 * (4 * 64 * 64 + 2 * 64 * 80));
  const double tokens = result.at("tokens").get<double>();
  const double rate = median(result.at("tokens_per_second"));
  EXPECT_NEAR(rate * median(result.at("seconds")), tokens, tokens * 1e-9);
  EXPECT_NEAR(median(result.at("share")) * median(result.at("products_tokens_per_second")), rate,
              rate * 1e-9);
  double sum = 0;
  for (const char* stage : {"start", "rows awaited", "encode", "commit awaited", "finish"}) {
    EXPECT_GE(median(result.at("stages").at(stage)), 0) << stage;
    sum += median(result.at("stages").at(stage));
  }
  EXPECT_NEAR(sum, median(result.at("seconds")), 1e-6);
  EXPECT_GE(median(result.at("padding")), 0);
  EXPECT_LT(median(result.at("padding")), 1);
  EXPECT_TRUE(result.at("peak_device_bytes").is_null());
}

TEST_F(BenchProgram, TheEstimateGrowsWithTheRows) {
  std::string lines;
  for (int row = 0; row < 400; ++row) lines += "abc def\n";
  runs_.dir().write("same.txt", lines);
  const Json found = report({"--input", runs_.dir().file("same.txt"), "--rows", "100"});
  const Json& result = found.at("results").at(0);
  const double start = median(result.at("stages").at("start"));
  const double rest = median(result.at("seconds")) - start;
  EXPECT_NEAR(median(result.at("whole_seconds")), start + 4 * rest, 1e-6);
}

TEST_F(BenchProgram, TypesAreComparedAndBatchSizesAreOneOnACpu) {
  const Json found =
      report({"--dtype", "float32,bfloat16", "--batch-tokens", "1024,4096", "--rows", "20"});
  ASSERT_EQ(found.at("results").size(), 2U);
  EXPECT_EQ(found.at("results").at(0).at("dtype"), "float32");
  EXPECT_EQ(found.at("results").at(1).at("dtype"), "bfloat16");
  EXPECT_THAT(found.at("notes").dump(),
              HasSubstr("gives the same batches as float32, batches of 1024"));
  EXPECT_TRUE(report({"--rows", "20"}).at("notes").empty());
}

TEST_F(BenchProgram, StreamsHaveTheirOwnBatches) {
  runs_.dir().write(
      "own.yaml",
      fmt::format("data:\n"
                  "  streams: {{a: {{batch_tokens: 64}}, b: {{batch_size: 1, max_length: 32}}}}\n"
                  "  splits: {{train: {{a: {0}, b: {0}}}}}\n",
                  texts()));
  const Json batches = report({"--config", runs_.dir().file("own.yaml"), "--rows", "20"})
                           .at("results")
                           .at(0)
                           .at("batches");
  EXPECT_EQ(batches.at("train_a").at("budget_tokens"), 64);
  EXPECT_EQ(batches.at("train_b").at("budget_tokens"), 32);
}

TEST_F(BenchProgram, AModelWithoutProductsHasNoShare) {
  const Json found =
      report({"--model", test_data("sentence_transformers/static_embedding"), "--rows", "20"});
  const Json& result = found.at("results").at(0);
  EXPECT_TRUE(result.at("share").is_null());
  EXPECT_TRUE(result.at("square_share").is_null());
  EXPECT_GT(median(result.at("tokens_per_second")), 0);
}

TEST_F(BenchProgram, AllStreamsOfAnExperimentAreTimed) {
  runs_.dir().write("experiment.yaml",
                    fmt::format("semantic: {{combine: true}}\noutput: {{combine: [a, b]}}\n"
                                "data: {{splits: {{train: {{a: {0}, b: {0}}}}}}}\n",
                                texts()));
  const Json found = report({"--config", runs_.dir().file("experiment.yaml"), "--rows", "30"});
  EXPECT_EQ(found.at("rows"), 60);
  EXPECT_EQ(found.at("whole_rows"), 2 * kRows);
  EXPECT_EQ(found.at("results").at(0).at("tokens"),
            2 * report({"--rows", "30"}).at("results").at(0).at("tokens").get<int64_t>());
}

TEST_F(BenchProgram, LeavesCacheAndFinalsAsTheyAre) {
  ASSERT_EQ(runs_.run("out", {"--cache-dir", cache(), "--keep-chunks"}).exit_code, 0);
  const auto before = snapshot();
  const std::string matrix = read_bytes(runs_.matrix("out"));
  ASSERT_EQ(bench({"--output", runs_.matrix("out"), "--rows", "20"}).exit_code, 0);
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(read_bytes(runs_.matrix("out")), matrix);
  EXPECT_THAT(scratch_folders(), ::testing::IsEmpty());
}

TEST_F(BenchProgram, WithoutACacheNoneIsMade) {
  ASSERT_EQ(bench({"--rows", "20"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(cache()));
}

// Makes the first column of each product so large that int8 loses all the others. The model's norms
// remove what the first column adds, so float32 loses little.
void make_hostile_to_int8(const std::string& path) {
  std::string bytes = read_bytes(path);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const size_t data = sizeof header_bytes + header_bytes;
  const Json header = Json::parse(bytes.substr(sizeof header_bytes, header_bytes));
  for (const auto& [name, tensor] : header.items()) {
    if (name.find("encoder.layer") == std::string::npos || tensor.at("shape").size() != 2) continue;
    const float large = 100;
    const auto row_bytes = tensor.at("shape").at(1).get<size_t>() * sizeof large;
    for (size_t at = tensor.at("data_offsets").at(0); at < tensor.at("data_offsets").at(1);
         at += row_bytes)
      std::memcpy(&bytes[data + at], &large, sizeof large);
  }
  write_bytes(path, bytes);
}

class QuantizedBench : public BenchProgram {
 protected:
  void SetUp() override {
    const ProgramEnd end = runs_.run("usual", {"--dtype", "int8"});
    if (end.exit_code == 69) GTEST_SKIP() << "this processor has no int8 products: " << end.err;
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }
};

TEST_F(QuantizedBench, AUsualModelIsNotRefused) {
  const Json found = report({"--dtype", "float32,int8", "--measure-refused", "--rows", "20"});
  for (const Json& result : found.at("results")) EXPECT_EQ(result.at("refused"), false);
  EXPECT_EQ(found.at("results").at(0).at("parity_cosine"), 1);
  EXPECT_LT(found.at("results").at(1).at("parity_cosine"), 1);
}

TEST_F(QuantizedBench, WhatARunRefusesIsMeasuredOnlyOnRequest) {
  make_hostile_to_int8(runs_.dir().file("model/model.safetensors"));
  for (const ProgramEnd& end :
       {runs_.run("out", {"--dtype", "int8"}), bench({"--dtype", "int8", "--rows", "20"})}) {
    EXPECT_EQ(end.exit_code, 65);
    EXPECT_THAT(end.err, HasSubstr("error[int8.parity]"));
  }
  EXPECT_EQ(runs_.run("out", {"--dtype", "int8", "--measure-refused"}).exit_code, 64)
      << "a run cannot pass the gate";

  const Json found = report({"--dtype", "float32,int8", "--measure-refused", "--rows", "20"});
  EXPECT_EQ(found.at("results").at(0).at("refused"), false);
  const Json& result = found.at("results").at(1);
  EXPECT_EQ(result.at("refused"), true);
  EXPECT_LT(result.at("parity_cosine"), 0.95);
  EXPECT_GT(median(result.at("tokens_per_second")), 0);
}

struct Failure {
  const char* name;
  Words extra;
  int exit_code;
  const char* code;
};

class BenchFailures : public BenchProgram, public ::testing::WithParamInterface<Failure> {};

TEST_P(BenchFailures, EndAsInARunAndLeaveNothing) {
  runs_.dir().write("broken.jsonl", "{\"text\": \"a\"}\nnot JSON\n");
  runs_.dir().write("empty.txt", "");
  Words extra = GetParam().extra;
  for (std::string& word : extra) {
    if (word.starts_with('@')) word = runs_.dir().file(word.substr(1));
  }
  const ProgramEnd end = bench(extra);
  EXPECT_EQ(end.exit_code, GetParam().exit_code) << end.err;
  EXPECT_THAT(end.err, HasSubstr(fmt::format("error[{}]", GetParam().code)));
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(scratch_folders(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BenchFailures,
    ::testing::Values(
        Failure{"model", {"--model", "/absent"}, 66, "model.not_found"},
        Failure{"input", {"--input", "@absent.txt"}, 66, "text.open"},
        Failure{"row", {"--input", "@broken.jsonl", "--field", "text"}, 65, "jsonl.syntax"},
        // The broken row comes after the rows that are timed.
        Failure{"late_row",
                {"--input", "@broken.jsonl", "--field", "text", "--rows", "1"},
                65,
                "jsonl.syntax"},
        Failure{"no_row", {"--input", "@empty.txt"}, 65, "bench.rows"},
        Failure{"stdin", {"--input", "-", "--format", "lines"}, 64, "bench.stdin"},
        Failure{"dtype", {"--dtype", "float32,float8"}, 64, "config.value"},
        Failure{"device", {"--device", "cuda:63"}, 69, "device.absent"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST_F(BenchProgram, ASignalEndsItAndLeavesNothing) {
  for (const bool while_products : {false, true}) {
    const std::string seconds = while_products ? "3600" : "0.02";
    Program program(runs_.dir().path(),
                    arguments({"--runs", "1000", "--product-seconds", seconds}));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto under_way = [&] {
      const Words folders = scratch_folders();
      return !folders.empty() && fs::exists(folders[0] + (while_products ? "/job.json" : "/run1"));
    };
    while (!under_way() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(under_way());
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait().signal, SIGTERM);
    EXPECT_THAT(scratch_folders(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace encode::testing
