// Tests the disk space of an experiment and its refusal.
#include "run_plan/memory/disk_space.h"

#include <utility>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/output_types.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kMatrix = int64_t{1000} * 64 * 4;

StreamDisk stream(const char* name) {
  return {.name = name, .vectors = 1000, .largest_chunk = 100, .dim = 64};
}

// The files of a run that do not grow with the rows also count, but not in the sums below.
int64_t without_records(const DiskNeed& need) {
  EXPECT_GT(need.peak.record_bytes, 0);
  return need.peak.total() - need.peak.record_bytes;
}

TEST(DiskNeed, HasTheChunksOfOneStreamAtATime) {
  const DiskNeed need = disk_need({stream("tc"), stream("commit")}, {}, {});
  EXPECT_EQ(need.peak.chunk_bytes, kMatrix) << "those of tc are deleted by then";
  EXPECT_EQ(need.peak.final_bytes, 2 * kMatrix);
  EXPECT_EQ(without_records(need), 3 * kMatrix);
  EXPECT_EQ(need.largest_file_bytes, kMatrix);
}

TEST(DiskNeed, KeptChunksAndCombinedMatricesCount) {
  StoreOptions store;
  store.keep_chunk_cache = true;
  const DiskNeed need = disk_need({stream("tc"), stream("commit")},
                                  {{.name = "train_combined", .streams = {0, 1}}}, store);
  EXPECT_EQ(need.peak.combined_bytes, 2 * kMatrix);
  EXPECT_EQ(without_records(need), 6 * kMatrix);
  EXPECT_EQ(need.largest_file, "the combined matrix train_combined");
}

TEST(DiskNeed, WhatExistsDoesNotCount) {
  StreamDisk half = stream("tc");
  half.existing_bytes = kMatrix / 2;
  EXPECT_EQ(without_records(disk_need({half}, {}, {})), 2 * kMatrix - kMatrix / 2);
}

// The run neither encodes nor combines again, so only its log and its records need room.
TEST(DiskNeed, NothingIsLeftToWriteForAFinishedExperiment) {
  StreamDisk tc = stream("tc");
  StreamDisk commit = stream("commit");
  tc.finished = commit.finished = true;
  tc.existing_bytes = commit.existing_bytes = 3 * kMatrix;  // the chunks were also kept
  const CombinedDisk combined = {.name = "train_combined", .streams = {0, 1}, .finished = true};
  const DiskNeed done = disk_need({tc, commit}, {combined}, {});
  EXPECT_EQ(without_records(done), 0);
  EXPECT_EQ(done.peak.final_bytes, 2 * kMatrix);
  EXPECT_EQ(done.peak.combined_bytes, 2 * kMatrix);
  EXPECT_EQ(done.peak.existing_bytes, 4 * kMatrix);
  EXPECT_EQ(done.largest_file_bytes, 0) << "no file is written";
  // If one of its streams is made again, the combined matrix is made again.
  commit = stream("commit");
  const DiskNeed half = disk_need({tc, commit}, {combined}, {});
  EXPECT_EQ(without_records(half), 3 * kMatrix) << "one part and the combined matrix";
  EXPECT_EQ(half.largest_file_bytes, 2 * kMatrix);
}

TEST(DiskNeed, AFinalHasTheBytesOfItsType) {
  for (const auto& [name, type] : kOutputTypes) {
    StoreOptions store;
    store.final_format.type = type;
    EXPECT_EQ(disk_need({stream("tc")}, {}, store).peak.final_bytes,
              1000 * 64 * facts_of(type).bits / 8)
        << name;
  }
}

TEST(DiskNeed, AbsurdNumbersDoNotOverflow) {
  StreamDisk absurd = stream("tc");
  absurd.vectors = int64_t{1} << 60;
  EXPECT_GT(disk_need({absurd}, {}, {}).peak.total(), int64_t{1} << 56);
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
  EXPECT_EQ(without_records(disk_need({standard}, {}, store)), kMatrix + 100);
  store.final_format = format;
  const DiskNeed table = disk_need({standard}, {}, store);
  EXPECT_EQ(without_records(table), 2 * kMatrix + 100);
  EXPECT_EQ(table.peak.float32_bytes, kMatrix);
}

TEST(DiskParts, AddUpToTheSumAsTheyAreShown) {
  EXPECT_EQ(describe(DiskParts{.chunk_bytes = 3072, .final_bytes = 3072}),
            "6.2 kB = chunks 3.1 kB + matrices 3.1 kB");
  EXPECT_EQ(describe(DiskParts{.chunk_bytes = 2'000'000'000,
                               .float32_bytes = 440'000'000,
                               .final_bytes = 1'500'000'000,
                               .combined_bytes = 3'000'000'000,
                               .record_bytes = 65'536,
                               .existing_bytes = 1'200'000'000}),
            "5.7 GB = chunks 2.0 GB + float32 rows 0.4 GB + matrices 1.5 GB + combined matrices "
            "3.0 GB - 1.2 GB that are there already");
  EXPECT_EQ(describe(DiskParts{}), "0 B");
}

std::string code_of(const DiskNeed& need, const DiskSpace& space) {
  try {
    require_disk(need, space, /*on_command_line=*/true);
  } catch (const Error& error) {
    return std::string(error.detail().code.name());
  }
  return "";
}

// A user who gave only flags has no config whose keys a hint could name.
TEST(Disk, TheHintNamesFlagsOrKeys) {
  const DiskNeed need = disk_need({stream("tc")}, {}, {});
  for (const auto& [by_flags, words] : {std::pair{true, "--output-dtype float16 or --truncate-dim"},
                                        std::pair{false, "semantic.output_dtype: float16 or "}}) {
    try {
      require_disk(need, {.path = "/", .free_bytes = 1}, by_flags);
      FAIL() << "it was not refused";
    } catch (const Error& error) {
      EXPECT_NE(error.detail().hint.find(words), std::string::npos) << error.detail().hint;
    }
  }
}

TEST(Disk, RefusesOnlyWhatDoesNotFit) {
  const DiskNeed need = disk_need({stream("tc")}, {}, {});
  const int64_t bytes = need.peak.total();
  EXPECT_EQ(code_of(need, {.path = "/", .free_bytes = bytes}), "");
  EXPECT_EQ(code_of(need, {.path = "/", .free_bytes = bytes - 1}), "limit.disk");
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
