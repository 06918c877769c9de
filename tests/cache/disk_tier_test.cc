// Tests the tier on disk: what it keeps, its size limit, and its errors about wrong folders and
// files.
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/file.h"
#include "known_rows.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 384;

EmbeddingCacheOptions on_disk(const TempDir& dir, int64_t disk_bytes = 100'000'000) {
  return {.dir = dir.file("cache"), .memory_bytes = 0, .disk_bytes = disk_bytes};
}

int64_t count(EmbeddingCache& cache, int64_t begin, int64_t end) {
  int64_t found = 0;
  for (int64_t row = begin; row < end; ++row) {
    const Answer answer = ask(cache, row, kDim);
    EXPECT_NE(answer, Answer::kWrong) << row;
    found += answer == Answer::kRight ? 1 : 0;
  }
  return found;
}

TEST(DiskTier, KeepsRowsForTheNextProcess) {
  const TempDir dir;
  {
    EmbeddingCache cache(on_disk(dir));
    add_rows(cache, 0, 1000, kDim);
  }
  EmbeddingCache cache(on_disk(dir));
  EXPECT_EQ(count(cache, 0, 1000), 1000);
  EXPECT_EQ(ask(cache, 1000, kDim), Answer::kMissing);
  EXPECT_EQ(cache.take_counts().disk_hits, 1000);
}

TEST(DiskTier, KeepsRowsOfAnySize) {
  const TempDir dir;
  EmbeddingCache cache(on_disk(dir));
  for (const int64_t dim : {1, 3, 100, 500, 200'000}) {
    add_rows(cache, dim, dim + 1, dim);
    EXPECT_EQ(ask(cache, dim, dim), Answer::kRight) << dim;
  }
}

TEST(DiskTier, StaysBelowItsLimitAndKeepsTheNewest) {
  const TempDir dir;
  constexpr int64_t kLimit = 16'000'000;
  EmbeddingCache cache(on_disk(dir, kLimit));
  constexpr int64_t kRows = 30'000;  // three times as much as fits
  for (int64_t row = 0; row < kRows; row += 1000) {
    add_rows(cache, row, row + 1000, kDim);
    EXPECT_LE(std::filesystem::file_size(dir.file("cache/data.mdb")), kLimit);
  }
  EXPECT_EQ(count(cache, kRows - 1000, kRows), 1000);
  EXPECT_EQ(ask(cache, 0, kDim), Answer::kMissing);
  EXPECT_GT(count(cache, 0, kRows), 6000) << "most of the limit is used";
}

TEST(DiskTier, ADamagedRecordIsMissingAndCanBeWrittenAgain) {
  const TempDir dir;
  {
    EmbeddingCache cache(on_disk(dir));
    add_rows(cache, 0, 100, kDim);
  }
  const std::string path = dir.file("cache/data.mdb");
  std::string bytes = read_bytes(path);
  const float value = known_values(50, kDim)[7];
  const size_t place = bytes.find(std::string(reinterpret_cast<const char*>(&value), 4));
  ASSERT_NE(place, std::string::npos);
  bytes[place] = static_cast<char>(bytes[place] ^ 1);
  write_bytes(path, bytes);
  EmbeddingCache cache(on_disk(dir));
  EXPECT_EQ(count(cache, 0, 100), 99);
  EXPECT_EQ(cache.take_counts().damaged_rows, 1);
  add_rows(cache, 50, 51, kDim);
  EXPECT_EQ(count(cache, 0, 100), 100);
}

TEST(DiskTier, RefusesAFileThatWasCutOff) {
  const TempDir dir;
  {
    EmbeddingCache cache(on_disk(dir));
    add_rows(cache, 0, 1000, kDim);
  }
  std::filesystem::resize_file(dir.file("cache/data.mdb"), 100'000);
  EXPECT_EQ(error_of([&] { EmbeddingCache cache(on_disk(dir)); }).code.name(), "cache.damaged");
}

TEST(DiskTier, RefusesAFolderOfSomethingElse) {
  const TempDir dir;
  dir.write("cache/data.mdb", "of another program");
  const ErrorDetail error = error_of([&] { EmbeddingCache cache(on_disk(dir)); });
  EXPECT_EQ(error.code.name(), "cache.foreign");
  EXPECT_EQ(error.exit_code, ExitCode::kCantCreate);
  EXPECT_EQ(read_bytes(dir.file("cache/data.mdb")), "of another program");
  EXPECT_EQ(list_directory(dir.file("cache")).size(), 1U);
}

TEST(DiskTier, RefusesACacheOfAnotherVersion) {
  const TempDir dir;
  dir.write("cache/embedding_cache.json", R"({"encode":"embedding cache","format":2})");
  const ErrorDetail error = error_of([&] { EmbeddingCache cache(on_disk(dir)); });
  EXPECT_EQ(error.code.name(), "cache.version");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  dir.write("cache/embedding_cache.json", "not JSON");
  EXPECT_EQ(error_of([&] { EmbeddingCache cache(on_disk(dir)); }).code.name(), "cache.version");
}

// A limit of file sizes takes the place of a full disk, because both make write() fail.
TEST(DiskTier, AFullDiskIsAnErrorAndTheOldRowsStay) {
  const TempDir dir;
  EmbeddingCache cache(on_disk(dir));
  add_rows(cache, 0, 1000, kDim);
  rlimit old_limit = {};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit = {.rlim_cur = 3'000'000, .rlim_max = old_limit.rlim_max};
  auto* const old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const ErrorDetail error = error_of([&] { add_rows(cache, 1000, 5000, kDim); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error.code.name(), "cache.store");
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
  EXPECT_EQ(count(cache, 0, 1000), 1000);
  add_rows(cache, 1000, 2000, kDim);
  EXPECT_EQ(count(cache, 0, 2000), 2000);
}

}  // namespace
}  // namespace encode::testing
