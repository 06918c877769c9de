// A test program that links this file gets the same random numbers of LibTorch in every run of a
// test.
#include <memory>

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace {

class SeedEveryTest : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override { at::manual_seed(1); }
};

[[maybe_unused]] const bool kInstalled = [] {
  auto listener = std::make_unique<SeedEveryTest>();
  ::testing::UnitTest::GetInstance()->listeners().Append(listener.release());
  return true;
}();

}  // namespace
