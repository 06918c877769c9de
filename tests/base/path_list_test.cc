#include "encode/path_list.h"

#include <fmt/format.h>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/scanned_files.h"

namespace encode {
namespace {

// Paths that share much, little and nothing with the path before them.
std::vector<std::string> some_paths(size_t count) {
  std::mt19937 random(7);
  std::vector<std::string> paths;
  for (size_t i = 0; i < count; ++i) {
    switch (random() % 4) {
      case 0:
        paths.emplace_back(random() % 300, static_cast<char>('a' + random() % 3));
        break;
      case 1:
        paths.emplace_back();
        break;
      case 2:
        paths.push_back(paths.empty() ? "x" : paths.back() + "/é");
        break;
      default:
        paths.push_back(fmt::format("/data/corpus/part-{:05}.jsonl", i));
    }
  }
  return paths;
}

TEST(PathList, HasThePathsThatWereAdded) {
  const std::vector<std::string> paths = some_paths(1000);
  PathList list;
  EXPECT_TRUE(list.empty());
  int64_t bytes = 0;
  for (const std::string& path : paths) {
    list.push_back(path);
    bytes += std::ssize(path);
    EXPECT_EQ(list.back(), path);
  }
  EXPECT_EQ(list.path_bytes(), bytes);
  ASSERT_EQ(list.size(), paths.size());
  for (size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(list[i], paths[i]) << i;
  EXPECT_EQ(std::vector<std::string>(list.begin(), list.end()), paths);
}

TEST(ScannedFiles, CopiesDoNotSeeLaterFiles) {
  ScannedFiles files;
  for (int64_t i = 0; i < 100; ++i)
    files.push_back({.path = fmt::format("{}.txt", i),
                     .first_row = i * 10,
                     .bytes = i,
                     .sha256 = i % 2 == 0 ? "" : std::string(64, 'a'),
                     .inode = -i,
                     .mtime_ns = i});
  const ScannedFiles copy = files;
  EXPECT_EQ(copy, files);
  files.push_back({.path = "new.txt", .first_row = 1000, .bytes = 5, .sha256 = ""});
  ASSERT_EQ(copy.size(), 100U);
  EXPECT_EQ(files.size(), 101U);
  EXPECT_NE(copy, files);
  EXPECT_EQ(copy[37].sha256, std::string(64, 'a'));
  EXPECT_EQ(copy[38].sha256, "");
  EXPECT_EQ(copy[38].inode, -38);
  EXPECT_EQ(files.bytes(), copy.bytes() + 5);
  EXPECT_EQ(copy.index_of_row(379), 37U);
  EXPECT_EQ(copy.index_of_row(380), 38U);
}

}  // namespace
}  // namespace encode
