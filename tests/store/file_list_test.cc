#include "store/file_list.h"

#include <filesystem>
#include <fmt/format.h>
#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/hash.h"
#include "base/refused.h"
#include "store/sealed_json.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kFiles = 2500;  // three pages

ScannedFiles some_files(int64_t count, const std::string& folder = "in") {
  ScannedFiles files;
  for (int64_t i = 0; i < count; ++i)
    files.push_back({.path = fmt::format("{}/part-{:06}.jsonl", folder, i),
                     .first_row = 3 * i,
                     .bytes = 10 + i,
                     .sha256 = sha256_hex(fmt::to_string(i)),
                     .inode = 7 * i,
                     .mtime_ns = i});
  return files;
}

class FileLists : public ::testing::Test {
 protected:
  FileList write(const ScannedFiles& files) {
    const FileList list = placed(list_of({}, files), files, path_);
    write_file_list(list, files);
    return list;
  }

  TempDir dir_;
  std::string path_ = dir_.file("tc.input_files.jsonl");
};

TEST_F(FileLists, EveryRangeIsRead) {
  const ScannedFiles files = some_files(kFiles);
  const FileList list = write(files);
  EXPECT_EQ(list.files, kFiles);
  EXPECT_EQ(list.bytes, files.bytes());
  EXPECT_EQ(list.first_path, files.front().path);
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>(0, kFiles),
                                   {0, 1},
                                   {1023, 1025},
                                   {1024, 2048},
                                   {1500, 1501},
                                   {2047, kFiles},
                                   {2499, 2500}}) {
    const ScannedFiles found = read_file_list({.list = list, .begin = begin, .end = end});
    ASSERT_EQ(std::ssize(found), end - begin) << begin;
    for (int64_t i = begin; i < end; ++i)
      EXPECT_EQ(found[static_cast<size_t>(i - begin)], files[static_cast<size_t>(i)]) << i;
  }
  EXPECT_EQ(read_list_of_matrix(list, dir_.file("x.npy")), files);
}

TEST_F(FileLists, FilesWithLongPathsShareAPageWithFewer) {
  const ScannedFiles files = some_files(kFiles, std::string(3000, 'x'));
  const FileList list = write(files);
  EXPECT_EQ(read_file_list({.list = list, .begin = 0, .end = kFiles}), files);
}

// The content of the files decides, not their places.
TEST_F(FileLists, TheHashOfTheContentDoesNotDependOnPaths) {
  const ScannedFiles files = some_files(kFiles);
  const FileList list = list_of({}, files);
  EXPECT_EQ(list_of({}, some_files(kFiles, "other")).sha256, list.sha256);
  EXPECT_NE(placed(list, some_files(kFiles, "other"), path_).root, placed(list, files, path_).root);
  for (const int64_t changed : {int64_t{0}, int64_t{1024}, kFiles - 1}) {
    ScannedFiles others;
    for (ScannedFile file : files) {
      if (std::ssize(others) == changed) file.sha256 = sha256_hex("other");
      others.push_back(file);
    }
    EXPECT_NE(list_of({}, others).sha256, list.sha256) << changed;
  }
  EXPECT_NE(list_of({}, some_files(kFiles - 1)).sha256, list.sha256);
}

// A shard reads the index and its own pages only.
TEST_F(FileLists, DamageIsSeenWhereItIsRead) {
  const ScannedFiles files = some_files(kFiles);
  const FileList list = write(files);
  const std::string whole = read_bytes(path_);
  const size_t in_second_page = whole.find("part-001500");
  for (size_t at = 0; at < whole.size(); at += whole.size() / 97) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    write_bytes(path_, damaged);
    const ErrorDetail error =
        refused([&] { read_file_list({.list = list, .begin = 0, .end = kFiles}); });
    EXPECT_EQ(error.code.name(), "store.damaged") << at;
  }
  std::string damaged = whole;
  damaged[in_second_page] ^= 1;
  write_bytes(path_, damaged);
  EXPECT_EQ(read_file_list({.list = list, .begin = 0, .end = 1024}).size(), 1024U);
  EXPECT_EQ(read_file_list({.list = list, .begin = 2048, .end = kFiles}).size(), 452U);
  EXPECT_EQ(
      refused([&] { read_file_list({.list = list, .begin = 1023, .end = 1025}); }).code.name(),
      "store.damaged");
  for (const size_t size : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 1}) {
    write_bytes(path_, whole.substr(0, size));
    EXPECT_EQ(refused([&] { read_file_list({.list = list, .begin = 0, .end = 1}); }).code.name(),
              "store.damaged")
        << size;
  }
}

// Returns a page and its index with another value and valid checksums; `root` becomes the checksum
// of the index.
std::string with_sha256(const std::string& list, const std::string& sha256, std::string& root) {
  const size_t end_of_page = list.find('\n');
  Json page = unseal(list.substr(0, end_of_page), "a page");
  page["sha256"][0] = sha256;
  const std::string sealed_page = seal(page);
  Json index = unseal(list.substr(end_of_page + 1, list.size() - end_of_page - 2), "an index");
  index["pages"][0] = stated_checksum(sealed_page);
  index["offsets"][0] = 0;
  const std::string sealed_index = seal(index);
  root = stated_checksum(sealed_index);
  return sealed_page + "\n" + sealed_index + "\n";
}

// A list that somebody has edited is damaged; it is no defect of the program.
TEST_F(FileLists, AHashThatIsNoneIsDamage) {
  FileList list = write(some_files(2));
  const std::string whole = read_bytes(path_);
  const auto read = [&] { return read_file_list({.list = list, .begin = 0, .end = 2}); };
  for (const std::string& sha256 : {std::string(64, 'G'), std::string(64, '`'), std::string("0")}) {
    write_bytes(path_, with_sha256(whole, sha256, list.root));
    EXPECT_EQ(refused(read).code.name(), "store.damaged") << sha256;
  }
  write_bytes(path_, with_sha256(whole, "", list.root));
  EXPECT_EQ(read().size(), 2U) << "a hash may be unknown";
}

TEST_F(FileLists, AnotherListIsRefusedAndReplaced) {
  const FileList list = write(some_files(kFiles));
  const ScannedFiles others = some_files(kFiles, "other");
  const FileList other = write(others);
  EXPECT_EQ(refused([&] { read_file_list({.list = list, .begin = 0, .end = 1}); }).code.name(),
            "store.damaged");
  EXPECT_EQ(read_list_of_matrix(list, dir_.file("x.npy")), others) << "of a later plan";
  EXPECT_EQ(read_file_list({.list = other, .begin = 0, .end = 1}).front(), others.front());
  std::filesystem::remove(path_);
  EXPECT_EQ(refused([&] { read_file_list({.list = list, .begin = 0, .end = 1}); }).exit_code,
            ExitCode::kNoInput);
  EXPECT_TRUE(read_list_of_matrix(list, dir_.file("x.npy")).empty());
}

TEST_F(FileLists, IsFoundBesideAMatrixThatWasMoved) {
  const ScannedFiles files = some_files(kFiles);
  const FileList list = write(files);
  std::filesystem::create_directory(dir_.file("moved"));
  std::filesystem::rename(path_, dir_.file("moved/tc.input_files.jsonl"));
  EXPECT_EQ(read_list_of_matrix(list, dir_.file("moved/tc_embeddings.npy")), files);
}

TEST_F(FileLists, IsToldFromAForeignFile) {
  EXPECT_FALSE(is_foreign_file_list(path_));
  write(some_files(kFiles));
  EXPECT_FALSE(is_foreign_file_list(path_));
  write_bytes(path_, "my own notes about the input files, which nobody may replace\n");
  EXPECT_TRUE(is_foreign_file_list(path_));
}

TEST_F(FileLists, PathsMustBeUtf8) {
  ScannedFiles files = some_files(3);
  files.push_back({.path = "in/\xff.txt", .first_row = 9, .bytes = 1, .sha256 = ""});
  EXPECT_EQ(refused([&] { placed(list_of({}, files), files, path_); }).code.name(), "job.utf8");
}

}  // namespace
}  // namespace encode::testing
