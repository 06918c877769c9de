// Tests that the matrix is bit-identical for every chunk size, mode and number of threads, and
// after kills.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "real_run.h"

namespace encode::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kRows = 300;
// The number of rows, of about 24 tokens each. With two threads they take several windows.
constexpr int64_t kRowsOfManyWindows = 2000;

class CutUp : public ::testing::TestWithParam<const char*> {};

TEST_P(CutUp, EveryChunkSizeAndStandardModeGiveTheSameBytes) {
  const RealRun runs(GetParam(), kRows);
  ASSERT_EQ(runs.run("reference", {"--chunk-size", "100"}).exit_code, 0);
  const std::string expected = read_bytes(runs.matrix("reference"));
  EXPECT_EQ(read_npy_header(runs.matrix("reference")).rows, kRows);
  const std::vector<std::vector<std::string>> cuts = {
      {"--chunk-size", "1"}, {"--chunk-size", "7"}, {"--chunk-size", "100000"},
      {"--standard"},        {"--threads", "1"},    {"--batch-size", "1"}};
  for (const auto& cut : cuts) {
    ASSERT_EQ(runs.run("other", cut).exit_code, 0) << cut[0];
    EXPECT_TRUE(read_bytes(runs.matrix("other")) == expected) << cut[0] << " " << cut.back();
    std::filesystem::remove(runs.matrix("other"));
    std::filesystem::remove(runs.matrix("other") + ".manifest.json");
  }
}

TEST_P(CutUp, AKilledRunGoesOnToTheSameBytes) {
  const RealRun runs(GetParam(), kRowsOfManyWindows);
  ASSERT_EQ(runs.run("reference", {}).exit_code, 0);
  EXPECT_GE(runs.kill_runs("killed", {"--chunk-size", "5"}, {.times = 5, .step_ms = 60}), 1);
  ASSERT_EQ(runs.run("killed", {"--chunk-size", "5"}).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("killed")) == read_bytes(runs.matrix("reference")));
}

TEST(TruncationLedger, IsTheSameHoweverTheRunWasCutUpOrKilled) {
  const RealRun runs("bert", kRows);
  const std::vector<std::string> cut = {"--max-length", "24"};
  const auto with = [&cut](std::vector<std::string> more) {
    more.insert(more.end(), cut.begin(), cut.end());
    return more;
  };
  ASSERT_EQ(runs.run("reference", cut).exit_code, 0);
  const std::string expected = read_bytes(runs.dir().file("reference.truncated.jsonl"));
  EXPECT_THAT(expected, HasSubstr("\"tokens\":24,\"lost_tokens\":"));
  EXPECT_LT(std::count(expected.begin(), expected.end(), '\n'), kRows);
  ASSERT_EQ(runs.run("chunks", with({"--chunk-size", "7"})).exit_code, 0);
  EXPECT_EQ(read_bytes(runs.dir().file("chunks.truncated.jsonl")), expected);
  ASSERT_EQ(runs.run("standard", with({"--standard"})).exit_code, 0);
  EXPECT_EQ(read_bytes(runs.dir().file("standard.truncated.jsonl")), expected);

  EXPECT_GE(runs.kill_runs("killed", with({"--chunk-size", "5"}), {.times = 3}), 1);
  ASSERT_EQ(runs.run("killed", with({"--chunk-size", "5"})).exit_code, 0);
  EXPECT_EQ(read_bytes(runs.dir().file("killed.truncated.jsonl")), expected);
}

INSTANTIATE_TEST_SUITE_P(Models, CutUp, ::testing::Values("bert", "qwen2"));

TEST(CutUpControl, AnotherPoolingGivesOtherBytes) {
  const RealRun runs("bert", 50);
  ASSERT_EQ(runs.run("mean", {"--pooling", "mean"}).exit_code, 0);
  ASSERT_EQ(runs.run("cls", {"--pooling", "cls"}).exit_code, 0);
  EXPECT_FALSE(read_bytes(runs.matrix("mean")) == read_bytes(runs.matrix("cls")));
}

TEST(RealWorker, ARowWithoutTokensIsZeroAndCounted) {
  const RealRun runs("qwen2", 0);
  runs.dir().write("texts.txt", "abc\n\nabd\n");
  const ProgramEnd end = runs.run("zero", {"--normalize"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string bytes = read_bytes(runs.matrix("zero"));
  const auto row_bytes = static_cast<size_t>(read_npy_header(runs.matrix("zero")).cols) * 4;
  const std::string second_row =
      bytes.substr(static_cast<size_t>(kNpyHeaderBytes) + row_bytes, row_bytes);
  EXPECT_EQ(second_row, std::string(row_bytes, '\0'));
  EXPECT_THAT(read_bytes(runs.matrix("zero") + ".manifest.json"),
              HasSubstr("\"zero_token_rows\": 1"));
  EXPECT_EQ(Program(runs.dir().path(), {"verify", runs.matrix("zero")}).wait().exit_code, 0);
}

// soak.memory runs this test with ENCODE_SOAK_ROWS=500000 instead of 20,000 rows.
TEST(RealWorker, PeakMemoryDoesNotGrowWithTheRows) {
  const char* const wish = std::getenv("ENCODE_SOAK_ROWS");
  const int64_t rows = wish != nullptr ? std::stoll(wish) : 20000;
  const ProgramEnd few = RealRun("bert", rows / 10).run("few", {});
  const ProgramEnd many = RealRun("bert", rows).run("many", {});
  ASSERT_EQ(few.exit_code, 0) << few.err;
  ASSERT_EQ(many.exit_code, 0) << many.err;
  constexpr int64_t kAllowance = 50'000'000;
  EXPECT_LT(many.peak_resident_bytes, few.peak_resident_bytes + kAllowance);
  std::cout << fmt::format("peak resident memory: {} MB for {} rows, {} MB for {}\n",
                           few.peak_resident_bytes / 1000000, rows / 10,
                           many.peak_resident_bytes / 1000000, rows);
}

// Sets a variable for the programs that start during the life of this object.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    ::setenv(name, value, 1);
  }
  ~EnvironmentVariable() { ::unsetenv(name_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
};

TEST(RealWorker, TheProcessorCanBeHeldDown) {
  const RealRun runs("bert", 20);
  const EnvironmentVariable baseline("ENCODE_CPU_CAPABILITY", "baseline");
  const ProgramEnd end = runs.run("baseline", {});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out + end.err, HasSubstr("cpu (baseline)"));
  const EnvironmentVariable unknown("ENCODE_CPU_CAPABILITY", "avx3");
  const ProgramEnd refused = runs.run("unknown", {});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cpu.capability"), HasSubstr("'avx3'")));
}

TEST(RealWorker, TheWorkersErrorReachesTheUser) {
  const RealRun runs("bert", 10);
  Program program(runs.dir().path(), runs.arguments("x", {"--dtype", "fp8"}));
  const ProgramEnd end = program.wait();
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("error[device.fp8]"));
}

}  // namespace
}  // namespace encode::testing
