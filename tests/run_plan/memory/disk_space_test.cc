// Tests the disk space of an experiment and its refusal.
#include "run_plan/memory/disk_space.h"

#include <gtest/gtest.h>

#include "encode/error.h"

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kMatrix = int64_t{1000} * 64 * 4;

StreamDisk stream(const char* name) {
  return {.name = name, .vectors = 1000, .largest_chunk = 100, .dim = 64};
}

TEST(DiskNeed, ChunksOfOneStreamAtATime) {
  const DiskNeed need = disk_need({stream("tc"), stream("commit")}, {}, {});
  EXPECT_EQ(need.chunk_bytes, 2 * kMatrix);
  EXPECT_EQ(need.final_bytes, 2 * kMatrix);
  EXPECT_EQ(need.peak_bytes, 3 * kMatrix);  // the final of tc, and chunks and final of commit
  EXPECT_EQ(need.largest_file_bytes, kMatrix);
}

TEST(DiskNeed, KeptChunksAndCombinedMatricesCount) {
  StoreOptions store;
  store.keep_chunk_cache = true;
  const DiskNeed need = disk_need({stream("tc"), stream("commit")},
                                  {{.name = "train_combined", .streams = {0, 1}}}, store);
  EXPECT_EQ(need.combined_bytes, 2 * kMatrix);
  EXPECT_EQ(need.peak_bytes, 6 * kMatrix);
  EXPECT_EQ(need.largest_file, "the combined matrix train_combined");
}

TEST(DiskNeed, WhatExistsDoesNotCount) {
  StreamDisk half = stream("tc");
  half.existing_bytes = kMatrix / 2;
  EXPECT_EQ(disk_need({half}, {}, {}).peak_bytes, 2 * kMatrix - kMatrix / 2);
}

TEST(DiskNeed, AbsurdNumbersDoNotOverflow) {
  StreamDisk absurd = stream("tc");
  absurd.vectors = int64_t{1} << 60;
  EXPECT_GT(disk_need({absurd}, {}, {}).peak_bytes, int64_t{1} << 56);
}

// The columns of a table count, and in standard mode the float32 file from which a table is made.
TEST(DiskNeed, TablesCountTheirColumns) {
  FinalFormat format;
  format.file = MatrixFormat::kParquet;
  EXPECT_EQ(column_bytes(format, 1000, 5000), 0);
  format.columns = {{"row", "row"}, {"body", "text"}};
  EXPECT_EQ(column_bytes(format, 1000, 5000), 1000 * 8 + 1000 * 4 + 5000);
  format.columns.push_back({"id", "id"});
  EXPECT_EQ(column_bytes(format, 1000, 5000), 1000 * 8 + 1000 * 4 + 5000 + 1000 * 36);
  StreamDisk standard = stream("tc");
  standard.largest_chunk = 0;
  standard.column_bytes = 100;
  StoreOptions store;
  EXPECT_EQ(disk_need({standard}, {}, store).peak_bytes, kMatrix + 100);
  store.final_format = format;
  EXPECT_EQ(disk_need({standard}, {}, store).peak_bytes, 2 * kMatrix + 100);
}

std::string code_of(const DiskNeed& need, const DiskSpace& space) {
  try {
    require_disk(need, space);
  } catch (const Error& error) {
    return std::string(error.detail().code.name());
  }
  return "";
}

TEST(Disk, RefusesOnlyWhatDoesNotFit) {
  const DiskNeed need = disk_need({stream("tc")}, {}, {});
  EXPECT_EQ(code_of(need, {.path = "/", .free_bytes = 2 * kMatrix}), "");
  EXPECT_EQ(code_of(need, {.path = "/", .free_bytes = 2 * kMatrix - 1}), "limit.disk");
  EXPECT_EQ(code_of(need, {.path = "/", .free_bytes = 1 << 30, .file_limit_bytes = kMatrix}), "");
  EXPECT_EQ(code_of(need, {.path = "/", .free_bytes = 1 << 30, .file_limit_bytes = kMatrix - 1}),
            "limit.file_size");
}

TEST(Disk, AsksForTheNearestDirectoryThatExists) {
  const TempDir dir;
  const DiskSpace space = disk_space_at(dir.file("not/yet/there"));
  EXPECT_EQ(space.path, dir.path());
  EXPECT_GT(space.free_bytes, 0);
}

}  // namespace
}  // namespace encode::testing
