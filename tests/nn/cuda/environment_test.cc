// Tests what open_device() puts into the environment before it opens CUDA. The tests need no GPU.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/config.h"
#include "encode/error.h"

#include "base/allocator_conf.h"
#include "nn/cuda/cuda_device.h"
#include "nn/cuda/product_settings.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNames[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                  "CUDA_LAUNCH_BLOCKING"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

class DeviceEnvironment : public ::testing::Test {
 protected:
  DeviceEnvironment() { clear(); }
  ~DeviceEnvironment() override { clear(); }

 private:
  static void clear() {
    for (const char* name : kNames) ::unsetenv(name);
    for (const ProductVariable& variable : product_environment()) ::unsetenv(variable.name);
  }
};

// Opens a device that no machine has, so that the other tests of the program stay on the CPU.
void open_absent(HardwareOptions options) {
  options.device = parse_device("cuda:63");
  EXPECT_THROW(open_device(options), Error);
}

// Two gigabytes of libraries do not help a machine without a GPU.
TEST_F(DeviceEnvironment, WithoutADriverTheHintAsksForNoLibraries) {
  if (std::filesystem::exists("/proc/driver/nvidia/version")) GTEST_SKIP() << "there is a driver";
  HardwareOptions options;
  options.device = parse_device("cuda");
  try {
    open_device(options);
    FAIL() << "a GPU without a driver";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "device.absent");
    EXPECT_THAT(error.detail().hint, Not(HasSubstr("scripts/setup.sh")));
  }
}

TEST_F(DeviceEnvironment, HasTheMergedSettingsBeforeCudaIsOpened) {
  ::setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:64, expandable_segments:False", 1);
  HardwareOptions options;
  options.allocator_conf = "max_split_size_mb:128";
  open_absent(options);
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
    EXPECT_EQ(variable(name), "max_split_size_mb:128,expandable_segments:False");
  EXPECT_EQ(variable("CUDA_LAUNCH_BLOCKING"), "");
}

TEST_F(DeviceEnvironment, HasSynchronousLaunchesOnRequest) {
  HardwareOptions options;
  options.synchronous_launches = true;
  open_absent(options);
  EXPECT_EQ(variable("CUDA_LAUNCH_BLOCKING"), "1");
}

// cuBLAS would choose other kernels with another workspace, for example.
TEST_F(DeviceEnvironment, OfTheUserDoesNotChangeMatrixProducts) {
  for (const ProductVariable& variable : product_environment()) ::setenv(variable.name, "1:7", 1);
  open_absent({});
  for (const ProductVariable& fixed : product_environment())
    EXPECT_EQ(variable(fixed.name), fixed.value != nullptr ? fixed.value : "") << fixed.name;
}

TEST_F(DeviceEnvironment, AVariableThatIsNotValidIsRefusedByItsName) {
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    ::setenv(name, "max_splitsize_mb:64", 1);
    HardwareOptions options;
    options.device = parse_device("cuda:63");
    try {
      open_device(options);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "config.allocator");
      EXPECT_EQ(error.detail().where, name);
      EXPECT_THAT(error.detail().expected, HasSubstr("max_split_size_mb"));
    }
    EXPECT_EQ(variable(name), "max_splitsize_mb:64") << "nothing was changed";
    ::unsetenv(name);
  }
}

TEST_F(DeviceEnvironment, OfACpuRunIsNotTouched) {
  ::setenv("PYTORCH_ALLOC_CONF", "of another program", 1);
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  HardwareOptions options;
  options.device = parse_device("cpu");
  EXPECT_NO_THROW(open_device(options));
  EXPECT_EQ(variable("PYTORCH_ALLOC_CONF"), "of another program");
  EXPECT_EQ(variable("PYTORCH_CUDA_ALLOC_CONF"), "");
  EXPECT_EQ(variable("CUBLAS_WORKSPACE_CONFIG"), ":16:8");
}

// A run restarts its worker without expandable segments by adding this to the worker's settings.
TEST_F(DeviceEnvironment, TheJobCanTurnExpandableSegmentsOffWhateverTheUserHasSet) {
  ::setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
  HardwareOptions options;
  options.allocator_conf = "backend:native,expandable_segments:True";
  EXPECT_EQ(allocator_settings(without_expandable_segments(options)),
            "backend:native,expandable_segments:False");
}

}  // namespace
}  // namespace encode
