#include "base/file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/refused.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::read_bytes;
using testing::refused;
using testing::TempDir;

size_t entries(const std::string& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TempDir dir;
  AtomicFile file(dir.file("a"), 0);
  file.write("abc", 3);
  EXPECT_FALSE(std::filesystem::exists(dir.file("a")));
  file.commit();
  EXPECT_EQ(read_bytes(dir.file("a")), "abc");
  EXPECT_EQ(entries(dir.path()), 1U);
}

TEST(AtomicFile, LeavesNothingWhenAbandoned) {
  const TempDir dir;
  {
    AtomicFile file(dir.file("a"), 1 << 16);
    file.write("abc", 3);
  }
  EXPECT_EQ(entries(dir.path()), 0U);
}

TEST(AtomicFile, ReplacesTheOldContentWholly) {
  const TempDir dir;
  dir.write("a", "a longer old content");
  write_file_durably(dir.file("a"), "new");
  EXPECT_EQ(read_bytes(dir.file("a")), "new");
}

TEST(AtomicFile, CutsOffWhatWasReservedButNotWritten) {
  const TempDir dir;
  AtomicFile file(dir.file("a"), 4096);
  file.write("abc", 3);
  file.commit();
  EXPECT_EQ(read_bytes(dir.file("a")), "abc");
}

TEST(AtomicFile, ReplacesASymbolicLinkAndNotItsTarget) {
  const TempDir dir;
  const std::string target = dir.write("target", "untouched");
  std::filesystem::create_symlink(target, dir.file("a"));
  write_file_durably(dir.file("a"), "new");
  EXPECT_EQ(read_bytes(target), "untouched");
  EXPECT_FALSE(std::filesystem::is_symlink(dir.file("a")));
}

TEST(AtomicFile, SaysBeforeTheWorkThatTheDiskIsTooSmall) {
  const TempDir dir;
  const auto error = refused([&] { AtomicFile(dir.file("a"), int64_t{1} << 60); });
  EXPECT_EQ(error.code.name(), "io.space");
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
  EXPECT_EQ(entries(dir.path()), 0U);
}

TEST(AtomicFile, CanBePublishedOnlyIfNothingHasTheName) {
  const TempDir dir;
  for (const bool first : {true, false}) {
    AtomicFile file(dir.file("a"), 0);
    file.write(first ? "1" : "2", 1);
    EXPECT_EQ(file.commit_if_absent(), first);
  }
  EXPECT_EQ(read_bytes(dir.file("a")), "1");
  EXPECT_EQ(entries(dir.path()), 1U);
}

TEST(AtomicFile, CanKeepThePermissionsOfAnotherFile) {
  const TempDir dir;
  const std::string path = dir.write("a", "old");
  std::filesystem::permissions(path, std::filesystem::perms{0604});
  AtomicFile file(path, 0);
  file.keep_attributes_of(open_for_reading(path, "io.read"));
  file.commit();
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0604});
}

TEST(AtomicFile, NeedsItsDirectory) {
  const TempDir dir;
  EXPECT_EQ(refused([&] { AtomicFile(dir.file("none/a"), 0); }).exit_code, ExitCode::kCantCreate);
}

TEST(ReadFile, ReturnsTheBytes) {
  const TempDir dir;
  const std::string content("a\0b\n", 4);
  EXPECT_EQ(read_file(dir.write("a", content), 4, "io.read"), content);
}

TEST(ReadFile, RefusesWhatIsLargerThanTheLimitBeforeReading) {
  const TempDir dir;
  const std::string path = dir.write("a", "");
  std::filesystem::resize_file(path, uint64_t{1} << 40);  // a sparse file
  const auto error = refused([&] { read_file(path, 100, "io.read"); });
  EXPECT_EQ(error.code.name(), "io.read");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.expected, "at most 100 bytes");
}

TEST(OpenForReading, RefusesWhatIsNoFileWithoutWaitingForIt) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  for (const std::string& path :
       {dir.file("fifo"), dir.path(), std::string("/dev/zero"), dir.file("none")}) {
    const auto error = refused([&] { open_for_reading(path, "io.read"); });
    EXPECT_EQ(error.exit_code, ExitCode::kNoInput) << path;
    EXPECT_EQ(error.code.name(), "io.read") << path;
  }
}

TEST(PreadUpTo, ReadsToTheEndOfTheFileAndReportsAFailure) {
  const TempDir dir;
  const UniqueFd fd = open_for_reading(dir.write("a", "abcd"), "io.read");
  std::array<char, 4> data = {};
  EXPECT_EQ(pread_up_to(fd, data, 1), 3U);
  EXPECT_EQ(std::string(data.data(), 3), "bcd");
  EXPECT_EQ(pread_up_to(fd, data, 4), 0U);
  EXPECT_EQ(pread_up_to(UniqueFd(), data, 0), std::nullopt);
  EXPECT_EQ(errno, EBADF);
}

TEST(IsStillNamed, OnlyWhileThePathLeadsToTheOpenFile) {
  const TempDir dir;
  const std::string path = dir.write("a", "x");
  const UniqueFd fd = open_for_reading(path, "io.read");
  EXPECT_TRUE(is_still_named(fd, path, "io.read"));
  std::filesystem::rename(dir.write("b", "x"), path);
  EXPECT_FALSE(is_still_named(fd, path, "io.read"));
  std::filesystem::remove(path);
  EXPECT_FALSE(is_still_named(fd, path, "io.read"));
}

TEST(IsStillNamed, AFailureIsNoAbsence) {
  const TempDir dir;
  const UniqueFd fd = open_for_reading(dir.write("a", "x"), "io.read");
  std::filesystem::create_symlink("circle", dir.file("circle"));
  const auto error = refused([&] { is_still_named(fd, dir.file("circle"), "store.lock"); });
  EXPECT_EQ(error.code.name(), "store.lock");
}

TEST(PreadAll, SaysWhereAFileEndsEarly) {
  const TempDir dir;
  const std::string path = dir.write("a", "abcd");
  const UniqueFd fd = open_for_reading(path, "io.read");
  std::array<char, 4> data = {};
  pread_all(fd, {data.data(), 2}, 2, path);
  EXPECT_EQ(std::string(data.data(), 2), "cd");
  const auto error = refused([&] { pread_all(fd, {data.data(), 4}, 2, path); });
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
  EXPECT_EQ(error.expected, "4 bytes at offset 2");
  EXPECT_EQ(error.found, "2 bytes");
}

// mmap(2) takes only offsets that are multiples of the size of a page, and some kernels on ARM have
// pages of 64 kB. LibTorch's loader of compiled models failed there at the offset 0xd8000 (issue
// 145610 of pytorch/pytorch).
TEST(MappedRange, BeginsAtAnyOffset) {
  constexpr size_t kBytes = 0xe0000;
  std::string content(kBytes, ' ');
  for (size_t i = 0; i < kBytes; ++i) content[i] = static_cast<char>(i * 31 + i / 251);
  const TempDir dir;
  const std::string path = dir.write("a", content);
  const UniqueFd fd = open_for_reading(path, "io.read");
  for (const size_t offset : {0U, 1U, 4095U, 4096U, 65535U, 65536U, 0xd8000U}) {
    for (const size_t size : {size_t{1}, size_t{5000}, kBytes - offset}) {
      const MappedRange range(fd, static_cast<int64_t>(offset), static_cast<int64_t>(size), path);
      const std::string_view mapped(reinterpret_cast<const char*>(range.data()), size);
      EXPECT_TRUE(mapped == std::string_view(content).substr(offset, size))
          << offset << " " << size;
    }
  }
}

TEST(CreateDirectoriesDurably, MakesParentsAndAcceptsWhatIsThere) {
  const TempDir dir;
  create_directories_durably(dir.file("a/b/c"));
  create_directories_durably(dir.file("a/b/c"));
  EXPECT_TRUE(std::filesystem::is_directory(dir.file("a/b/c")));
}

TEST(CreateDirectoriesDurably, NamesTheFileThatIsInTheWay) {
  const TempDir dir;
  const std::string path = dir.write("a", "");
  const auto error = refused([&] { create_directories_durably(path + "/b"); });
  EXPECT_EQ(error.exit_code, ExitCode::kCantCreate);
  EXPECT_EQ(error.where, path);
}

TEST(UniqueFd, ClosesOnceAndMoves) {
  UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(fd);
  const int number = fd.get();
  UniqueFd other = std::move(fd);
  EXPECT_EQ(other.get(), number);
  EXPECT_EQ(other.close(), 0);
  EXPECT_FALSE(other);
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(ParentDirectory, IsTheCurrentOneForABareName) {
  EXPECT_EQ(parent_directory("a/b"), "a");
  EXPECT_EQ(parent_directory("b"), ".");
  EXPECT_EQ(parent_directory("/b"), "/");
}

}  // namespace
}  // namespace encode
