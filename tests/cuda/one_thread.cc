// The operations of the stand-in are small, and several tests run at the same time: more threads of
// LibTorch would wait for each other most of the time.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace encode::testing {
namespace {

class OneThread : public ::testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};

const auto* const kOneThread =
    ::testing::AddGlobalTestEnvironment(new OneThread);  // GoogleTest owns it

}  // namespace
}  // namespace encode::testing
