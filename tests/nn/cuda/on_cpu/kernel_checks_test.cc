// Runs check_kernels(), the check that the program does at run time, on the plugin's kernels on the
// CPU.
#include "nn/cuda/kernel_checks.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "nn/cuda/plugin.h"
#include "schedules.h"

namespace encode {
namespace {

using Parameters = std::tuple<at::ScalarType, emulator::Schedule>;

class KernelChecks : public ::testing::TestWithParam<Parameters> {};

TEST_P(KernelChecks, TrustEveryKernel) {
  const auto& [type, schedule] = GetParam();
  emulator::set_schedule(schedule);
  at::set_num_threads(1);  // More threads of LibTorch would only slow down the emulator.
  const std::vector<KernelFinding> findings = check_kernels(*encode_cuda_kernels(), at::kCPU, type);
  const size_t plain = type == at::kFloat ? 9 : 10;  // without the kernels for 8-bit floats
  EXPECT_EQ(findings.size(), type == at::kBFloat16 ? plain + 4 : plain);
  for (const KernelFinding& finding : findings)
    EXPECT_TRUE(finding.passed) << to_string(finding.kernel) << ": " << finding.reason;
}

INSTANTIATE_TEST_SUITE_P(Types, KernelChecks,
                         ::testing::Combine(::testing::Values(at::kFloat, at::kHalf, at::kBFloat16),
                                            ::testing::ValuesIn(testing::kSchedules)));

}  // namespace
}  // namespace encode
