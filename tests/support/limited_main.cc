#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/kernels.h"

namespace {

// CTest counts a test with this exit code as skipped (SKIP_RETURN_CODE in
// cmake/EncodeModule.cmake).
constexpr int kSkipped = 77;

}  // namespace

// Skips all tests if ENCODE_CPU_CAPABILITY names the best instruction set of the processor or one
// that the processor does not have: the tests would be those without the variable.
int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const char* limit = std::getenv("ENCODE_CPU_CAPABILITY");
  const encode::kernels::Capability best = encode::kernels::processor_capability();
  if (limit != nullptr && encode::kernels::capability() == best) {
    std::printf("[  SKIPPED ] ENCODE_CPU_CAPABILITY=%s does not limit this processor (%s)\n", limit,
                encode::kernels::to_string(best));
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
