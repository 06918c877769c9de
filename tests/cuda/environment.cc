// Sets up the environment of the tests on the stand-in before the first test. The CTest property
// ENVIRONMENT of a discovered test can hold only one variable, which is LD_LIBRARY_PATH.
#include <cstdlib>

#include <gtest/gtest.h>

namespace encode::testing {
namespace {

class StandInEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    ::setenv("ENCODE_TEST_DEVICE", "cuda", 1);  // A test fails instead of skipping.
    ::setenv("STAND_IN_DEVICES", "2", 1);
    ::setenv("ENCODE_TEST_SMALL_PRODUCTS", "1", 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);  // for the programs that a test starts
  }
};

const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new StandInEnvironment);  // GoogleTest owns it

}  // namespace
}  // namespace encode::testing
