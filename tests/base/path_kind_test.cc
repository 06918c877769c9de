// Tests that only a missing file counts as absent.
#include "base/path_kind.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr ErrorCode kCode = "io.stat";

TEST(PathKind, TellsWhatAPathLeadsTo) {
  const TempDir dir;
  const std::string file = dir.write("file", "x");
  std::filesystem::create_symlink(file, dir.file("link"));
  EXPECT_EQ(path_kind(file, kCode), PathKind::kFile);
  EXPECT_EQ(path_kind(dir.file("link"), kCode), PathKind::kFile);
  EXPECT_EQ(path_kind(dir.path(), kCode), PathKind::kDirectory);
  EXPECT_EQ(path_kind("/dev/null", kCode), PathKind::kOther);
}

TEST(PathKind, NothingUnderTheNameIsAbsent) {
  const TempDir dir;
  std::filesystem::create_symlink(dir.file("none"), dir.file("dangling"));
  EXPECT_FALSE(path_exists(dir.file("none"), kCode));
  EXPECT_FALSE(path_exists(dir.file("none/below"), kCode));
  EXPECT_FALSE(path_exists(dir.write("file", "x") + "/below", kCode));
  EXPECT_FALSE(path_exists(dir.file("dangling"), kCode));
}

TEST(IsDirectory, FollowsALinkAndTakesAFailureForAnError) {
  const TempDir dir;
  std::filesystem::create_symlink(dir.path(), dir.file("link"));
  std::filesystem::create_symlink(dir.file("circle"), dir.file("circle"));
  EXPECT_TRUE(is_directory(dir.file("link"), kCode));
  EXPECT_FALSE(is_directory(dir.write("file", "x"), kCode));
  EXPECT_FALSE(is_directory(dir.file("none"), kCode));
  EXPECT_THROW(is_directory(dir.file("circle"), kCode), Error);
}

TEST(PathKind, AnyOtherErrorIsAnError) {
  const TempDir dir;
  std::filesystem::create_symlink(dir.file("circle"), dir.file("circle"));
  for (const std::string& path : {dir.file("circle"), dir.file(std::string(300, 'x'))}) {
    try {
      path_kind(path, kCode);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code, kCode);
      EXPECT_EQ(error.detail().where, path);
    }
  }
}

TEST(PathKind, OnlyTwoErrorsMeanAbsent) {
  for (int error = 1; error < 134; ++error)
    EXPECT_EQ(means_absent(error), error == ENOENT || error == ENOTDIR) << error;
}

}  // namespace
}  // namespace encode::testing
