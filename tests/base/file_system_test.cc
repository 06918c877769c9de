#include "base/file_system.h"

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(FindFileSystem, TakesTheNearestFolderThatExists) {
  const TempDir dir;
  FileSystem here;
  FileSystem below;
  ASSERT_EQ(find_file_system(dir.path(), here), 0);
  ASSERT_EQ(find_file_system(dir.path() + "/none/../other/x", below), 0);
  EXPECT_EQ(below.path, here.path);
  EXPECT_EQ(below.id, here.id);
  EXPECT_GT(here.free_bytes, 0);
  EXPECT_GE(here.free_bytes, here.usable_bytes);
}

TEST(FindFileSystem, AFailureIsNoAbsence) {
  const TempDir dir;
  std::filesystem::create_symlink("circle", dir.file("circle"));
  FileSystem found;
  EXPECT_EQ(find_file_system(dir.file("circle"), found), ELOOP);
  EXPECT_EQ(found.path, dir.file("circle"));
}

TEST(SharedFileSystems, ADiskOfThisMachineIsNone) {
  const TempDir dir;
  EXPECT_FALSE(shared_file_system(dir.path()));
  EXPECT_FALSE(shared_file_system(dir.file("none/x")));
  EXPECT_FALSE(shared_file_system("/proc/self"));
}

}  // namespace
}  // namespace encode::testing
