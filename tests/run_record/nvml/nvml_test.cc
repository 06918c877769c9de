#include "run_record/nvml.h"

#include <cstdlib>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::built_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Sets variables of the environment until the end of the scope.
class Answers {
 public:
  explicit Answers(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  ~Answers() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

 private:
  std::map<std::string, std::string> variables_;
};

std::vector<GpuStatus> gpus(std::map<std::string, std::string> variables = {}) {
  const Answers answers(std::move(variables));
  return Nvml::open(built_file(NVML_STAND_IN))->gpus();
}

ErrorDetail refused(std::map<std::string, std::string> variables, const std::string& library) {
  const Answers answers(std::move(variables));
  try {
    const auto nvml = Nvml::open(library);
    if (nvml) static_cast<void>(nvml->gpus());
  } catch (const Error& error) {
    return error.detail();
  }
  return {};
}

TEST(Nvml, TellsWhatTheDriverKnows) {
  const GpuStatus gpu = gpus({{"NVML_PROCESSES", "2"}}).at(0);
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.uuid, "GPU-00000000-stand-in");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:01:00.0");
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.total_bytes, 85520809984);
  EXPECT_EQ(gpu.used_bytes, 500000000);
  EXPECT_EQ(gpu.free_bytes, 85520809984 - 500000000);
  EXPECT_EQ(gpu.temperature_celsius, 41);
  EXPECT_EQ(gpu.slowdown_celsius, 90);
  EXPECT_EQ(gpu.sm_clock_mhz, 1980);
  EXPECT_EQ(gpu.ecc_errors, 0);
  ASSERT_EQ(gpu.processes->size(), 2U);
  EXPECT_EQ(gpu.processes->at(1).pid, 1002);
  EXPECT_EQ(gpu.processes->at(1).bytes, 2000000000);
  EXPECT_EQ(gpu.processes->at(1).name, "/usr/bin/process1002");
  EXPECT_THAT(gpu.problems, IsEmpty());
}

TEST(Nvml, TellsTheVersionsOfTheDriver) {
  const NvidiaDriver driver = Nvml::open(built_file(NVML_STAND_IN))->driver();
  EXPECT_EQ(driver.version, "580.65.06");
  EXPECT_EQ(driver.cuda_version, 13000);
}

TEST(Nvml, ListsManyProcesses) {
  EXPECT_EQ(gpus({{"NVML_PROCESSES", "200"}}).at(0).processes->size(), 200U);
}

TEST(Nvml, TellsWhyTheClocksAreLow) {
  EXPECT_TRUE(gpus({{"NVML_THROTTLING", "0x40"}}).at(0).throttling->thermal);
  EXPECT_TRUE(gpus({{"NVML_THROTTLING", "0x88"}}).at(0).throttling->power_brake);
  EXPECT_TRUE(gpus({{"NVML_THROTTLING", "0x8"}}).at(0).throttling->hardware);
  EXPECT_FALSE(gpus({{"NVML_THROTTLING", "0x1"}}).at(0).throttling->thermal);  // idle
}

TEST(Nvml, AValueThatTheGpuDoesNotKnowIsAbsentAndNoProblem) {
  const GpuStatus gpu = gpus({{"NVML_UTILIZATION", "!3"}, {"NVML_ECC_ERRORS", "!3"}}).at(0);
  EXPECT_EQ(gpu.utilization_percent, std::nullopt);
  EXPECT_EQ(gpu.ecc_errors, std::nullopt);
  EXPECT_THAT(gpu.problems, IsEmpty());
  EXPECT_EQ(gpu.temperature_celsius, 41);
}

TEST(Nvml, AValueThatIsRefusedIsAProblem) {
  const GpuStatus gpu = gpus({{"NVML_PROCESSES", "!4"}}).at(0);
  EXPECT_EQ(gpu.processes, std::nullopt);
  EXPECT_THAT(gpu.problems, ElementsAre("processes: Insufficient Permissions"));
}

TEST(Nvml, ALostGpuDoesNotHideTheOthers) {
  const std::vector<GpuStatus> found = gpus({{"NVML_GPUS", "2"}, {"NVML_GPU", "!15|"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].problems, ElementsAre("no answer: GPU is lost"));
  EXPECT_EQ(found[1].temperature_celsius, 41);
}

TEST(Nvml, NoDriverIsNoError) {
  EXPECT_EQ(Nvml::open("libnvidia-ml-that-is-not-there.so"), nullptr);
  const Answers answers(std::map<std::string, std::string>{{"NVML_INIT", "!9"}});
  EXPECT_EQ(Nvml::open(built_file(NVML_STAND_IN)), nullptr);
}

TEST(Nvml, AnyOtherFailureIsShown) {
  const ErrorDetail mismatch = refused({{"NVML_INIT", "!18"}}, built_file(NVML_STAND_IN));
  EXPECT_EQ(mismatch.code.name(), "nvml.failed");
  EXPECT_EQ(mismatch.exit_code, ExitCode::kUnavailable);
  EXPECT_THAT(mismatch.found, HasSubstr("Driver/library version mismatch"));
  EXPECT_EQ(refused({{"NVML_GPUS", "!4"}}, built_file(NVML_STAND_IN)).found,
            "Insufficient Permissions");
  EXPECT_THAT(refused({}, built_file(NVML_WITHOUT_FUNCTIONS)).found, HasSubstr("nvml"));
  const testing::TempDir dir;
  EXPECT_EQ(refused({}, dir.write("broken.so.1", "no library")).code.name(), "nvml.failed");
}

GpuStatus gpu_of(const std::string& name, const std::string& uuid) {
  GpuStatus gpu;
  gpu.name = name;
  gpu.uuid = uuid;
  return gpu;
}

TEST(VisibleGpu, FollowsTheEnvironment) {
  const std::vector<GpuStatus> same = {gpu_of("H100", "GPU-a"), gpu_of("H100", "GPU-b"),
                                       gpu_of("H100", "GPU-c")};
  EXPECT_EQ(visible_gpu(same, 1, {}), 1U);
  EXPECT_EQ(visible_gpu(same, 3, {}), std::nullopt);
  EXPECT_EQ(visible_gpu(same, 0, {.visible_devices = "2, 0"}), 2U);
  EXPECT_EQ(visible_gpu(same, 1, {.visible_devices = "2, 0"}), 0U);
  EXPECT_EQ(visible_gpu(same, 0, {.visible_devices = "GPU-b"}), 1U);
  EXPECT_EQ(visible_gpu(same, 1, {.visible_devices = "0,9,1"}),
            std::nullopt);  // as CUDA: ends at 9
  EXPECT_EQ(visible_gpu(same, 0, {.visible_devices = ""}), std::nullopt);
  EXPECT_EQ(visible_gpu(same, 0, {.visible_devices = "MIG-1"}), std::nullopt);
}

// CUDA puts the fastest GPU first, and NVML does not say which one that is.
TEST(VisibleGpu, IsUnknownAmongSeveralModels) {
  const std::vector<GpuStatus> mixed = {gpu_of("T4", "GPU-a"), gpu_of("H100", "GPU-b"),
                                        gpu_of("H100", "GPU-c")};
  EXPECT_EQ(visible_gpu(mixed, 0, {}), std::nullopt);
  EXPECT_EQ(visible_gpu(mixed, 1, {.device_order = "PCI_BUS_ID"}), 1U);
  EXPECT_EQ(visible_gpu(mixed, 2, {.name = "T4"}), 0U);
  EXPECT_EQ(visible_gpu(mixed, 0, {.name = "H100"}), std::nullopt);
  EXPECT_EQ(visible_gpu(mixed, 0, {.visible_devices = "GPU-c"}), 2U);
}

}  // namespace
}  // namespace encode
