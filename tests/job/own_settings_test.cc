// Tests that each stream has its own batch settings although streams share a model, and that chunks
// record the device that computed them.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "real_run.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ProgramEnd run_config(const RealRun& runs, const std::string& config) {
  const std::string path = runs.dir().write("experiment.yaml", config);
  return Program(runs.dir().path(), {"run", "--config", path, "--no-progress"}).wait();
}

// Both streams share one model, which is loaded with the settings of the first stream.
TEST(OwnBatches, AreThoseOfEachStreamInTheLogAndTheManifest) {
  const RealRun runs("bert", 40);
  const ProgramEnd end =
      run_config(runs, fmt::format("semantic: {{model: {0}, cache_dir: {1}}}\n"
                                   "hardware: {{device: cpu}}\n"
                                   "data:\n"
                                   "  streams: {{a: {{batch_tokens: 64}}, b: {{batch_size: 1}}}}\n"
                                   "  splits: {{train: {{a: {{file: {2}}}, b: {{file: {2}}}}}}}\n",
                                   runs.dir().file("model"), runs.dir().file("cache"),
                                   runs.dir().file("texts.txt")));
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string log = read_bytes(runs.dir().file("cache/encode.log"));
  EXPECT_THAT(log, HasSubstr("train_a: batches of at most 64 tokens, rows of at most 40"));
  EXPECT_THAT(log, HasSubstr("train_b: batches of at most 40 tokens, rows of at most 40"));
  EXPECT_EQ(
      read_manifest(runs.dir().file("cache/train_a_embeddings.npy"))->origins.at(0).batch_tokens,
      64);
}

// Computes chunks as on a processor without vector units and deletes a chunk, so that the next run
// continues with the vector units of this processor.
class OtherDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ENCODE_CPU_CAPABILITY", "baseline", 1);
    ASSERT_EQ(run({}).exit_code, 0);
    ::unsetenv("ENCODE_CPU_CAPABILITY");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache())) {
      if (entry.path().filename() == "chunk_0003.npy") last_chunk_ = entry.path();
    }
    ASSERT_TRUE(std::filesystem::remove(last_chunk_));
    std::filesystem::remove(runs_.matrix("out"));
    std::filesystem::remove(runs_.matrix("out") + ".manifest.json");
  }

  ProgramEnd run(std::vector<std::string> more) const {
    more.insert(more.end(), {"--chunk-size", "10", "--keep-chunks", "--cache-dir", cache()});
    return runs_.run("out", more);
  }
  std::string cache() const { return runs_.dir().file("cache"); }
  static bool is_baseline(const ProgramEnd& end) {
    return end.err.find("loaded on cpu (baseline)") != std::string::npos;
  }

  const RealRun runs_{"bert", 40};
  std::filesystem::path last_chunk_;
};

TEST_F(OtherDevice, IsWarnedOfAndRecorded) {
  const ProgramEnd end = run({});
  if (is_baseline(end)) GTEST_SKIP() << "this processor has no vector units";
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("computed on another kind of device"),
                             HasSubstr("cpu (baseline)"), HasSubstr("strict_numerics")));
  EXPECT_EQ(read_manifest(runs_.matrix("out"))->origins.size(), 2U);
}

TEST_F(OtherDevice, IsRefusedWithStrictNumerics) {
  const std::string config =
      runs_.dir().write("strict.yaml", "hardware: {strict_numerics: true}\n");
  const ProgramEnd end = run({"--config", config});
  if (is_baseline(end)) GTEST_SKIP() << "this processor has no vector units";
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("run.other_device"));
}

// Earlier versions could search for the algorithms of the matrix products, and recorded them in the
// chunks.
class SearchedProducts : public OtherDevice {
 protected:
  void SetUp() override {
    OtherDevice::SetUp();
    change_records([](Json& record) { record["products"] = kHash; });
  }
  void change_records(const std::function<void(Json&)>& change) const {
    const std::filesystem::path log = last_chunk_.parent_path() / "chunks.log";
    std::istringstream lines(read_bytes(log));
    std::string changed;
    for (std::string line; std::getline(lines, line);) {
      Json record = unseal(line, log);
      change(record);
      changed += seal(record) + "\n";
    }
    write_bytes(log, changed);
  }
  void TearDown() override { ::unsetenv("ENCODE_CPU_CAPABILITY"); }

  ProgramEnd run_on_the_same_device(const std::vector<std::string>& more) const {
    ::setenv("ENCODE_CPU_CAPABILITY", "baseline", 1);
    return run(more);
  }

  static constexpr const char* kHash = "0123456789abcdef0123456789abcdef";
};

TEST_F(SearchedProducts, AreWarnedOfAndRecorded) {
  const ProgramEnd end = run_on_the_same_device({});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("other matrix products"), HasSubstr(kHash)));
  const std::vector<ChunkOrigin> origins = read_manifest(runs_.matrix("out"))->origins;
  ASSERT_EQ(origins.size(), 2U);
  EXPECT_EQ(origins[0].products + origins[1].products, kHash);
}

TEST_F(SearchedProducts, AreRefusedWithStrictNumerics) {
  const std::string config =
      runs_.dir().write("strict.yaml", "hardware: {strict_numerics: true}\n");
  const ProgramEnd end = run_on_the_same_device({"--config", config});
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("run.other_device"));
}

// One record names the kernels that computed its chunk, and another record does not. Only records
// that name different kernels would be refused.
class UnknownKernels : public SearchedProducts {
 protected:
  void SetUp() override {
    OtherDevice::SetUp();
    change_records([](Json& record) {
      record["kernels"] = "layer_norm,pool";
      record["cuda_numerics"] = 1;
    });
  }
};

TEST_F(UnknownKernels, GiveAWarningAlsoWithStrictNumerics) {
  const std::string config =
      runs_.dir().write("strict.yaml", "hardware: {strict_numerics: true}\n");
  const ProgramEnd end = run_on_the_same_device({"--config", config});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("do not say which CUDA kernels have computed them"),
                             HasSubstr("layer_norm,pool")));
  EXPECT_EQ(read_manifest(runs_.matrix("out"))->origins.size(), 2U);
}

TEST_F(OtherDevice, IsNotSeenOnTheSameKind) {
  ::setenv("ENCODE_CPU_CAPABILITY", "baseline", 1);
  const ProgramEnd end = run({});
  ::unsetenv("ENCODE_CPU_CAPABILITY");
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("another kind of device")));
}

}  // namespace
}  // namespace encode::testing
