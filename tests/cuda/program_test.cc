// Tests `encode run --device cuda:1` as a whole program, on the stand-in for LibTorch's CUDA
// library.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

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
  const RealRun runs(GetParam(), kRows);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const std::vector<std::string> arguments =
      runs.arguments("killed", on_cuda({"--chunk-size", "4"}));
  int killed = 0;
  for (int delay_ms = 600; killed < 2 && delay_ms < 5000; delay_ms += 300) {
    Program program(runs.dir().path(), arguments);
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    program.signal(SIGKILL);
    if (program.wait().signal != SIGKILL) break;
    ++killed;
  }
  EXPECT_GE(killed, 1);
  ASSERT_EQ(runs.run("killed", on_cuda({"--chunk-size", "4"})).exit_code, 0);
  EXPECT_TRUE(read_bytes(runs.matrix("killed")) == read_bytes(runs.matrix("reference")));
}

INSTANTIATE_TEST_SUITE_P(Models, CudaProgram, ::testing::Values("bert", "qwen2", "t5"));

// The parameter n says which request for device memory fails: some happen in loading, others in a
// batch.
class OutOfDeviceMemory : public ::testing::TestWithParam<int> {};

TEST_P(OutOfDeviceMemory, EndsWith69AndTheNextRunGoesOnToTheSameBytes) {
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

INSTANTIATE_TEST_SUITE_P(Allocations, OutOfDeviceMemory, ::testing::Values(3, 60, 200, 400));

// The parameter n says which launch fails. The next wait reports the failure, and from then on
// every CUDA call of the process fails.
class FailedLaunch : public ::testing::TestWithParam<int> {};

TEST_P(FailedLaunch, ANewWorkerGoesOnToTheSameBytes) {
  const RealRun runs("bert", kRows);
  ASSERT_EQ(runs.run("reference", on_cuda()).exit_code, 0);
  const ProgramEnd end = run_with(runs, "failed", on_cuda({"--chunk-size", "10"}),
                                  {{"STAND_IN_FAIL_LAUNCH", std::to_string(GetParam())},
                                   {"STAND_IN_FAIL_ONCE", runs.dir().file("failed.once")}});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("the CUDA context failed"));
  EXPECT_TRUE(read_bytes(runs.matrix("failed")) == read_bytes(runs.matrix("reference")));
}

INSTANTIATE_TEST_SUITE_P(Launches, FailedLaunch, ::testing::Values(10, 150, 400));

TEST(FailedLaunchAlways, EndsAfterThreeWorkersAndNamesTheChunk) {
  const RealRun runs("bert", kRows);
  const ProgramEnd end =
      run_with(runs, "failed", on_cuda({"--chunk-size", "10"}), {{"STAND_IN_FAIL_LAUNCH", "150"}});
  EXPECT_NE(end.exit_code, 0);
  EXPECT_THAT(end.err, HasSubstr("CUDA error 700"));
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
  const ProgramEnd end =
      run_with(runs, "ada", on_cuda({"--dtype", "fp8"}), {{"STAND_IN_CAPABILITY", "8.9"}});
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("device.fp8"));
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
  const auto copy_of = [&](const char* program) {
    const std::string copy = runs.dir().file(std::filesystem::path(program).filename().string());
    std::filesystem::copy_file(program, copy);
    return copy;
  };
  copy_of(FAKE_WORKER_PROGRAM);
  const std::string encode = copy_of(ENCODE_PROGRAM);
  std::string command = encode;
  for (const std::string& word : runs.arguments("cpu", {"--device", "auto"})) command += " " + word;
  const std::string log = runs.dir().file("log.txt");
  ASSERT_EQ(std::system((command + " > " + log + " 2>&1").c_str()), 0) << read_bytes(log);
  EXPECT_THAT(read_bytes(log), HasSubstr("has an NVIDIA GPU, but the CPU computes"));
  EXPECT_THAT(read_bytes(log), HasSubstr("libencode_cuda.so"));
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
