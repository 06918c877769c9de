// Gives each test of a program that links this file the same random numbers of LibTorch in every
// run.
#include <memory>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace {

class SeedEveryTest : public ::testing::EmptyTestEventListener {
  // Does not call at::manual_seed(), which would also ask for a GPU. LibTorch keeps the answer,
  // which is "none" until open_device() has opened the CUDA library.
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(1);
  }
};

[[maybe_unused]] const bool kInstalled = [] {
  auto listener = std::make_unique<SeedEveryTest>();
  ::testing::UnitTest::GetInstance()->listeners().Append(listener.release());
  return true;
}();

}  // namespace
