// Tests `encode run --device cuda:1` as a whole program, on the stand-in for LibTorch's CUDA
// library.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "real_run.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 120;

std::vector<std::string> on_cuda(std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--device", "cuda:1"});
  return more;
}

std::vector<float> values(const std::string& npy) {
  const std::string bytes = read_bytes(npy);
  std::vector<float> out((bytes.size() - static_cast<size_t>(kNpyHeaderBytes)) / sizeof(float));
  std::memcpy(out.data(), bytes.data() + kNpyHeaderBytes, out.size() * sizeof(float));
  return out;
}

ProgramEnd run_with(const RealRun& runs, const std::string& name,
                    const std::vector<std::string>& extra, const Program::Environment& fault) {
  return Program(runs.dir().path(), runs.arguments(name, extra), fault).wait();
}

// How many launches and requests for device memory a worker needs until its first row is encoded.
// Almost all of them load and check the model.
struct FirstRow {
  int64_t launches = 0;
  int64_t requests = 0;
};

FirstRow first_row() {
  const RealRun runs("bert", 1);
  const std::string counts = runs.dir().file("counts");
  EXPECT_EQ(run_with(runs, "one", on_cuda(), {{"STAND_IN_COUNTS", counts}}).exit_code, 0);
  FirstRow first;
  std::ifstream(counts) >> first.launches >> first.requests;
  return first;
}

// A number of launches or requests that a worker reaches in its first batch.
std::string in_first_batch(int64_t first_row) { return std::to_string(first_row - 3); }

class CudaProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaProgram, Float32IsTheCpusMatrix) {
  const RealRun runs(GetParam(), kRows);
  ASSERT_EQ(runs.run("cpu", {}).exit_code, 0);
  const ProgramEnd end = runs.run("cuda", on_cuda());
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err + end.out, HasSubstr("cuda:1"));
  const std::vector<float> expected = values(runs.matrix("cpu"));
  const std::vector<float> found = values(runs.matrix("cuda"));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
  EXPECT_EQ(runs.verify("cuda").exit_code, 0);
}

TEST_P(CudaProgram, EveryChunkSizeAndStandardModeGiveTheSameBytes) {
  const RealRun runs(GetParam(), kRows);
  ASSERT_EQ(runs.run("reference", on_cuda({"--chunk-size", "50"})).exit_code, 0);
  const std::string expected = read_bytes(runs.matrix("reference"));
  ASSERT_EQ(runs.run("small", on_cuda({"--chunk-size", "7"})).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("small")) == expected);
  ASSERT_EQ(runs.run("standard", on_cuda({"--standard"})).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("standard")) == expected);
}

TEST_P(CudaProgram, AKilledRunGoesOnToTheSameBytes) {
  const RealRun runs(GetParam(), 20 * kRows);  // so many that a run outlives its kill
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  EXPECT_GE(runs.kill_runs("killed", on_cuda({"--chunk-size", "4"}),
                           {.times = 2, .first_ms = 700, .step_ms = 200}),
            1);
  ASSERT_EQ(runs.run("killed", on_cuda({"--chunk-size", "4"})).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("killed")) == read_bytes(runs.matrix("reference")));
}

INSTANTIATE_TEST_SUITE_P(Models, CudaProgram, ::testing::Values("bert", "qwen2", "t5"));

// The parameter n says which request for device memory fails.
class NoMemoryForTheModel : public ::testing::TestWithParam<int> {};

TEST_P(NoMemoryForTheModel, EndsWith69AndTheNextRunGoesOnToTheSameBytes) {
  const RealRun runs("bert", kRows);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const std::vector<std::string> cut = on_cuda({"--chunk-size", "10"});
  const ProgramEnd end =
      run_with(runs, "short", cut, {{"STAND_IN_FAIL_ALLOCATION", std::to_string(GetParam())}});
  EXPECT_EQ(end.exit_code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr("device.memory"));
  ASSERT_EQ(runs.run("short", cut).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("short")) == read_bytes(runs.matrix("reference")));
}

INSTANTIATE_TEST_SUITE_P(Allocations, NoMemoryForTheModel, ::testing::Values(3, 60));

TEST(NoMemoryForABatch, IsSurvivedWithTheSameBytes) {
  const RealRun runs("bert", kRows);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const ProgramEnd end =
      run_with(runs, "short", on_cuda({"--chunk-size", "10"}),
               {{"STAND_IN_FAIL_ALLOCATION", in_first_batch(first_row().requests)}});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("out of memory; the batch is tried again"));
  EXPECT_TRUE(read_bytes(runs.matrix("short")) == read_bytes(runs.matrix("reference")));
}

// Lets the n-th launch of the first worker fail. The next wait reports the failure, and from then
// on every CUDA call of the process fails.
void expect_a_new_worker_goes_on(const std::string& n) {
  const RealRun runs("bert", kRows);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const ProgramEnd end = run_with(
      runs, "failed", on_cuda({"--chunk-size", "10"}),
      {{"STAND_IN_FAIL_LAUNCH", n}, {"STAND_IN_FAIL_ONCE", runs.dir().file("failed.once")}});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("the CUDA context failed"));
  EXPECT_TRUE(read_bytes(runs.matrix("failed")) == read_bytes(runs.matrix("reference")));
}

TEST(FailedLaunch, WhileTheModelIsCheckedANewWorkerGoesOnToTheSameBytes) {
  expect_a_new_worker_goes_on("10");
}

TEST(FailedLaunch, OfABatchANewWorkerGoesOnToTheSameBytes) {
  expect_a_new_worker_goes_on(in_first_batch(first_row().launches));
}

TEST(FailedLaunchAlways, EndsTheRunAndBlamesNoRow) {
  const RealRun runs("bert", kRows);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const ProgramEnd end = run_with(runs, "failed", on_cuda({"--chunk-size", "10"}),
                                  {{"STAND_IN_FAIL_LAUNCH", in_first_batch(first_row().launches)}});
  EXPECT_EQ(end.exit_code, 70) << end.err;
  EXPECT_THAT(end.err, HasSubstr("CUDA error 700"));
  EXPECT_THAT(end.err, HasSubstr("worker.every_row"));
  ASSERT_EQ(runs.run("failed", on_cuda({"--chunk-size", "10"})).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("failed")) == read_bytes(runs.matrix("reference")));
}

TEST(CudaDevice, BFloat16IsRefusedBeforeAmpere) {
  const RealRun runs("bert", 3);
  const ProgramEnd end =
      run_with(runs, "turing", on_cuda({"--dtype", "bfloat16"}), {{"STAND_IN_CAPABILITY", "7.5"}});
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("device.bfloat16"));
}

TEST(CudaDevice, Fp8IsRefusedBeforeHopper) {
  const RealRun runs("bert", 3);
  for (const char* capability : {"7.5", "8.0", "8.9"}) {
    const ProgramEnd end =
        run_with(runs, "old", on_cuda({"--dtype", "fp8"}), {{"STAND_IN_CAPABILITY", capability}});
    EXPECT_EQ(end.exit_code, 69);
    EXPECT_THAT(end.err, HasSubstr("device.fp8")) << capability;
  }
}

// The tiny model has launches of 16,384 rows.
TEST(UnequalRows, NeedSmallerLaunchesAndGiveTheSameBytesInEveryChunkSize) {
  const RealRun runs("bert", kRows);
  const Program::Environment bad = {{"STAND_IN_UNEQUAL_ROWS", "16384,8192"}};
  const ProgramEnd end = run_with(runs, "reference", on_cuda(), bad);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("smaller launches (at most 4096 rows, blocks of 512)"));
  ASSERT_EQ(run_with(runs, "small", on_cuda({"--chunk-size", "7"}), bad).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("small")) == read_bytes(runs.matrix("reference")));
}

TEST(UnequalRows, InLaunchesOfEachSizeAreRefused) {
  const RealRun runs("bert", 3);
  const ProgramEnd end =
      run_with(runs, "refused", on_cuda(),
               {{"STAND_IN_UNEQUAL_ROWS", "16384,8192,4096,2048,1024,512,256,128,64"}});
  EXPECT_EQ(end.exit_code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr("device.products"));
}

TEST(CudaProgramFlags, ProductSearchHasNoEffectAndIsWarnedOf) {
  const RealRun runs("bert", 3);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const ProgramEnd end = runs.run("flag", on_cuda({"--product-search"}));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("--product-search: hardware.product_search has no effect"));
  EXPECT_TRUE(read_bytes(runs.matrix("flag")) == read_bytes(runs.matrix("reference")));
}

// The model has windows, for which FlashAttention-2 is missing on such a GPU.
TEST(CudaDevice, Float16RunsBeforeAmpere) {
  const RealRun runs("mistral_window", kRows);
  const ProgramEnd end = run_with(runs, "turing", on_cuda({"--dtype", "float16", "--normalize"}),
                                  {{"STAND_IN_CAPABILITY", "7.5"}});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  ASSERT_EQ(runs.run("cpu", {"--normalize"}).exit_code, 0);
  const std::vector<float> expected = values(runs.matrix("cpu"));
  const std::vector<float> found = values(runs.matrix("turing"));
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 0.01) << i;
}

// The programs without the plugin, on a machine that has a GPU.
TEST(CudaDevice, AutoWarnsIfOnlyThePluginIsMissing) {
  const RealRun runs("bert", 3);
  const auto copy_of = [&](const std::string& program) {
    const std::string copy = runs.dir().file(std::filesystem::path(program).filename().string());
    std::filesystem::copy_file(program, copy);
    return copy;
  };
  copy_of(built_file(FAKE_WORKER_PROGRAM));
  const std::string encode = copy_of(built_file(ENCODE_PROGRAM));
  std::string command = encode;
  for (const std::string& word : runs.arguments("cpu", {"--device", "auto"})) command += " " + word;
  const std::string log = runs.dir().file("log.txt");
  ASSERT_EQ(std::system((command + " > " + log + " 2>&1").c_str()), 0) << read_bytes(log);
  EXPECT_THAT(read_bytes(log), HasSubstr("has an NVIDIA GPU, but the CPU computes"));
  EXPECT_THAT(read_bytes(log), HasSubstr("libencode_cuda.so"));
}

// The record of the run has what the driver said, and `encode status` shows it.
TEST(CudaMonitor, RecordsTheGpuAndWarnsOfACardThatIsFull) {
  const RealRun runs("bert", kRows);
  const ProgramEnd end = run_with(runs, "watched", on_cuda({"--keep-chunks"}),
                                  {{"LD_LIBRARY_PATH", built_file("cuda_stand_in/torch/lib") + ":" +
                                                           built_file("nvml_stand_in")},
                                   {"NVML_GPUS", "2"},
                                   {"NVML_MEMORY_TOTAL", "80000000000|2000000000"},
                                   {"NVML_MEMORY_USED", "0|1940000000"},
                                   {"NVML_UTILIZATION", "0|83"},
                                   {"NVML_TEMPERATURE", "0|71"}});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("97.0% of the GPU's memory is used"));
  const ProgramEnd status =
      Program(runs.dir().path(), {"status", "--verbose", runs.dir().file(".watched.npy.cache")})
          .wait();
  EXPECT_THAT(status.out, HasSubstr("GPU 1.9 GB used, 83% busy, 71 C"));
  EXPECT_THAT(status.out, HasSubstr("near_limit: 97.0% of the GPU's memory is used"));
}

TEST(CudaMonitor, ADriverThatDoesNotAnswerIsSaidOnceAndTheRunGoesOn) {
  const RealRun runs("bert", kRows);
  const ProgramEnd end = run_with(runs, "unwatched", on_cuda(),
                                  {{"LD_LIBRARY_PATH", built_file("cuda_stand_in/torch/lib") + ":" +
                                                           built_file("nvml_stand_in")},
                                   {"NVML_INIT", "!18"}});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("the GPU is not watched"));
  EXPECT_THAT(end.err, HasSubstr("Driver/library version mismatch"));
}

// Chunks that encode's kernels have computed, and a last one that is missing.
// ENCODE_CUDA_KERNELS=off would compute it with other last bits.
class OtherKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({}, {}).exit_code, 0);
    int removed = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache())) {
      if (entry.path().filename() == "chunk_0003.npy")
        removed += std::filesystem::remove(entry.path()) ? 1 : 0;
    }
    ASSERT_EQ(removed, 1);
    std::filesystem::remove(runs_.matrix("out"));
    std::filesystem::remove(runs_.matrix("out") + ".manifest.json");
  }
  ProgramEnd run(std::vector<std::string> more, const Program::Environment& environment) const {
    more.insert(more.end(), {"--chunk-size", "30", "--keep-chunks", "--cache-dir", cache()});
    return run_with(runs_, "out", on_cuda(more), environment);
  }
  std::string strict() const {
    return runs_.dir().write("strict.yaml", "hardware: {strict_numerics: true}\n");
  }
  std::string cache() const { return runs_.dir().file("cache"); }

  const RealRun runs_{"bert", kRows};
};

TEST_F(OtherKernels, AreRefusedWithStrictNumerics) {
  const ProgramEnd end = run({"--config", strict()}, {{"ENCODE_CUDA_KERNELS", "off"}});
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("run.other_device"));
  EXPECT_THAT(end.err, HasSubstr("CUDA kernels off"));
  EXPECT_THAT(end.err, HasSubstr("layer_norm")) << "the kernels of the chunks";
}

TEST_F(OtherKernels, AreWarnedOfAndRecorded) {
  const ProgramEnd end = run({}, {{"ENCODE_CUDA_KERNELS", "off"}});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("other matrix products or CUDA kernels"));
  const std::string manifest = read_bytes(runs_.matrix("out") + ".manifest.json");
  EXPECT_THAT(manifest, HasSubstr("\"off\""));
  EXPECT_THAT(manifest, HasSubstr("layer_norm,"));
}

TEST_F(OtherKernels, AreNotSeenWithTheSameKernels) {
  const ProgramEnd end = run({"--config", strict()}, {});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, ::testing::Not(HasSubstr("CUDA kernels")));
}

TEST(CudaDevice, OneThatIsNotThereIsRefused) {
  const RealRun runs("bert", 3);
  const ProgramEnd end = runs.run("absent", {"--device", "cuda:2"});
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("device.absent"));
  EXPECT_THAT(end.err, HasSubstr("2 CUDA devices"));
}

}  // namespace
}  // namespace encode::testing
