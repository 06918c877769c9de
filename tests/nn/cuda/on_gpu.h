// A test fixture that opens a GPU.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "nn/cuda/cuda_device.h"

namespace encode::testing {

// If the environment variable ENCODE_TEST_DEVICE names a device, such as "cuda:1", the tests fail
// without this device. Otherwise they are skipped if there is no GPU.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* asked = std::getenv("ENCODE_TEST_DEVICE");
    try {
      HardwareOptions options;
      options.device = parse_device(asked != nullptr ? asked : "cuda");
      static const at::Device opened = open_device(options).device;
      device_ = opened;
    } catch (const Error& error) {
      if (asked != nullptr || error.exit_code() != ExitCode::kUnavailable) throw;
      GTEST_SKIP() << "no GPU: " << error.detail().found;
    }
  }

  at::Device device_ = at::kCPU;
};

}  // namespace encode::testing
