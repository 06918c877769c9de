// Tests that a scratch folder is beside the path, and that it is removed with its content.
#include "base/scratch_folder.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "support/temp_dir.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, LiesBesideAndIsGoneWithAllThatItHolds) {
  const testing::TempDir dir;
  dir.write("cache/kept", "");
  for (const std::string cache : {"cache", "cache/", "absent/deeper/cache"}) {
    std::string path;
    {
      const ScratchFolder scratch(dir.file(cache), "bench");
      path = scratch.path();
      EXPECT_EQ(fs::path(path).parent_path(), dir.path()) << cache;
      EXPECT_EQ(fs::path(path).filename().string().find("cache.bench."), 0U) << path;
      fs::create_directories(path + "/run0/more");
    }
    EXPECT_FALSE(fs::exists(path));
    EXPECT_FALSE(fs::exists(dir.file("absent")));
  }
  EXPECT_TRUE(fs::exists(dir.file("cache/kept")));
}

TEST(ScratchFolder, WhereNoneCanBeMadeIsSaid) {
  try {
    const ScratchFolder scratch("/proc/self/cache", "bench");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "io.mkdir");
  }
}

}  // namespace
}  // namespace encode
