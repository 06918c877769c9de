// Tests that docs/gpu-presets.md is what the tool makes. With ENCODE_REFRESH=1 it writes the page.
#include "plan/presets.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(GpuPresets, ThePageIsWhatTheToolMakes) {
  const std::string path = testing::source_file("docs/gpu-presets.md");
  if (std::getenv("ENCODE_REFRESH") != nullptr) write_bytes(path, gpu_presets_page());
  EXPECT_TRUE(read_bytes(path) == gpu_presets_page())
      << "run plan_test with ENCODE_REFRESH=1 and commit " << path;
}

}  // namespace
}  // namespace encode::testing
