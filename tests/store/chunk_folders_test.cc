// Tests the sub-folders of a stream of very many chunks. crash_test.cc and power_loss_test.cc kill
// runs that make them.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/refused.h"
#include "store/audit.h"
#include "store/chunk_places.h"
#include "store/fake_job.h"
#include "store/records.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StreamIdentity identity_of(int64_t rows) {
  return {.name = "train_tc", .fingerprint = R"({"seed":1})", .rows = rows, .dim = 4};
}

FakeJob job_with_folders() {
  FakeJob job;
  job.folder_chunks = 3;
  return job;
}

TEST(ChunkFolders, ThePlanDecides) {
  EXPECT_EQ(new_stream(identity_of(10'000), 1).folder_chunks, 0);
  EXPECT_EQ(new_stream(identity_of(10'001), 1).folder_chunks, kFolderChunks);
  const ChunkPlaces flat("d", 0);
  EXPECT_EQ(flat.path(12'345), "d/chunk_12345.npy");
  EXPECT_EQ(flat.folder(12'345), "d");
  const ChunkPlaces folders("d", kFolderChunks);
  EXPECT_EQ(folders.path(7), "d/000/chunk_0007.npy");
  EXPECT_EQ(folders.path(12'345, ChunkPart::kLedger), "d/012/chunk_12345.truncated.jsonl");
  EXPECT_EQ(folders.path(1'234'567), "d/1234/chunk_1234567.npy");
  EXPECT_EQ(folders.folder(999), "d/000");
}

TEST(ChunkFolders, AStreamOfFewChunksHasTheTextOfEarlierVersions) {
  const std::string text = new_stream(identity_of(10'000), 1).text();
  EXPECT_THAT(text, HasSubstr("\"format\": 3"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("folder_chunks")));
  EXPECT_THAT(new_stream(identity_of(10'001), 1).text(), HasSubstr("\"format\": 4"));
}

TEST(ChunkFolders, ManyChunksAreInSubfoldersFromTheStart) {
  const TempDir dir;
  const auto store =
      ChunkStore::open(dir.path(), identity_of(10'001), 1, ChunkStore::Open::kResume);
  commit_chunk(*store, 9'999, 4);
  commit_chunk(*store, 10'000, 4);
  const std::string folder = chunks_dir(dir.path(), "train_tc");
  EXPECT_TRUE(fs::exists(folder + "/009/chunk_9999.npy"));
  EXPECT_TRUE(fs::exists(folder + "/010/chunk_10000.npy"));
  EXPECT_THAT(chunk_subfolders(folder), ElementsAre("009", "010"));
  const auto again =
      ChunkStore::open(dir.path(), identity_of(10'001), 1, ChunkStore::Open::kResume);
  EXPECT_EQ(again->committed().size(), 2U);
  EXPECT_THAT(again->dropped(), IsEmpty());
  const auto joined = ChunkStore::open(dir.path(), identity_of(10'001), 1, ChunkStore::Open::kJoin);
  EXPECT_EQ(joined->committed().size(), 2U);
}

TEST(ChunkFolders, ChunksOfAnEarlierVersionStayWhereTheyAre) {
  const TempDir dir;
  const std::string folder = chunks_dir(dir.path(), "train_tc");
  const StreamFile flat = {.identity = identity_of(10'001), .chunk_rows = 1};
  fs::create_directories(folder);
  write_bytes(folder + "/stream.json", flat.text());
  {
    const auto store =
        ChunkStore::open(dir.path(), identity_of(10'001), 1, ChunkStore::Open::kResume);
    commit_chunk(*store, 10'000, 4);
  }
  EXPECT_TRUE(fs::exists(folder + "/chunk_10000.npy"));
  fs::remove(folder + "/stream.json");
  const auto store =
      ChunkStore::open(dir.path(), identity_of(10'001), 1, ChunkStore::Open::kResume);
  EXPECT_EQ(store->committed().size(), 1U) << "the log shows that stream.json had no sub-folders";
  EXPECT_EQ(read_bytes(folder + "/stream.json"), flat.text());
  commit_chunk(*store, 1, 4);
  EXPECT_THAT(chunk_subfolders(folder), IsEmpty());
}

TEST(ChunkFolders, AJobHasTheBytesOfOneWithoutThem) {
  const TempDir dir;
  const FakeJob job = job_with_folders();
  run_fake_job(dir.path(), job);
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
  const std::string folder = chunks_dir(dir.path(), job.identity.name);
  EXPECT_THAT(chunk_subfolders(folder), ElementsAre("000", "001", "002"));
  const ChunkFolder found = read_chunk_folder(folder);
  EXPECT_TRUE(found.has_each_once);
  EXPECT_THAT(found.damaged, IsEmpty());
  EXPECT_THAT(found.strays, IsEmpty());
  remove_chunks(dir.path(), job.identity.name);
  EXPECT_FALSE(fs::exists(folder));
}

TEST(ChunkFolders, DamageAndStraysAreSeen) {
  const TempDir dir;
  const FakeJob job = job_with_folders();
  run_fake_job(dir.path(), job);
  const std::string folder = chunks_dir(dir.path(), job.identity.name);
  write_bytes(folder + "/001/chunk_0099.npy", "no record");
  write_bytes(folder + "/chunk_0004.npy", "at the place of a flat folder");
  write_bytes(folder + "/001/mine.txt", "foreign");
  write_bytes(folder + "/002/chunk_0006.npy", "damaged");
  EXPECT_THAT(
      read_chunk_folder(folder).strays,
      ::testing::UnorderedElementsAre("chunk_0004.npy", "001/chunk_0099.npy", "001/mine.txt"));
  EXPECT_EQ(read_chunk_folder(folder).damaged.size(), 1U);
  const auto store =
      ChunkStore::open(dir.path(), job.identity, job.chunk_rows, ChunkStore::Open::kResume);
  EXPECT_THAT(store->pending(), ElementsAre(6));
  EXPECT_FALSE(fs::exists(folder + "/001/chunk_0099.npy"));
  EXPECT_FALSE(fs::exists(folder + "/chunk_0004.npy"));
  EXPECT_TRUE(fs::exists(folder + "/001/mine.txt"));
  remove_chunks(dir.path(), job.identity.name);
  EXPECT_EQ(read_bytes(folder + "/001/mine.txt"), "foreign");
}

TEST(ChunkFolders, ALinkIsNoSubfolder) {
  const TempDir dir;
  const FakeJob job = job_with_folders();
  run_fake_job(dir.path(), job);
  dir.write("elsewhere/chunk_0100.npy", "foreign");
  const std::string folder = chunks_dir(dir.path(), job.identity.name);
  fs::create_symlink(dir.file("elsewhere"), folder + "/123");
  EXPECT_THAT(chunk_subfolders(folder), ElementsAre("000", "001", "002"));
  remove_chunks(dir.path(), job.identity.name);
  EXPECT_EQ(read_bytes(dir.file("elsewhere/chunk_0100.npy")), "foreign");
}

TEST(ChunkFolders, ChunksAreTakenOverWithTheirFolders) {
  const TempDir dir;
  FakeJob job = job_with_folders();
  const std::string from = dir.file("from");
  const std::string to = dir.file("to");
  run_fake_job(from, job);
  EXPECT_EQ(adopt_chunks({from}, to, job.identity), 8);
  EXPECT_TRUE(fs::exists(job.chunk_path(to, 7)));
  EXPECT_THAT(run_fake_job(to, job), IsEmpty()) << "nothing is encoded again";
  EXPECT_EQ(read_bytes(job.final_path(to)), expected_final(job));
}

// The one that makes the folder may be killed before it syncs, so each of them syncs.
TEST(ChunkFolders, TwoWorkersShareASubfolder) {
  const TempDir dir;
  const StreamIdentity identity = identity_of(10'001);
  const CacheLock lock = CacheLock::acquire(dir.path());
  ChunkStore::open(dir.path(), identity, 1, ChunkStore::Open::kResume);
  const auto a = ChunkStore::open(dir.path(), identity, 1, ChunkStore::Open::kJoin);
  const auto b = ChunkStore::open(dir.path(), identity, 1, ChunkStore::Open::kJoin);
  ASSERT_TRUE(a->claim(0) && b->claim(1));
  commit_chunk(*a, 0, 4);
  commit_chunk(*b, 1, 4);
  EXPECT_EQ(committed_rows(dir.path(), identity), 2);
  const auto again = ChunkStore::open(dir.path(), identity, 1, ChunkStore::Open::kResume);
  EXPECT_EQ(again->committed().size(), 2U);
}

TEST(ChunkFolders, AFileInTheWayIsNotReplaced) {
  const TempDir dir;
  const StreamIdentity identity = identity_of(10'001);
  const auto store = ChunkStore::open(dir.path(), identity, 1, ChunkStore::Open::kResume);
  const std::string file = chunks_dir(dir.path(), "train_tc") + "/000";
  write_bytes(file, "foreign");
  EXPECT_THAT(refused([&] { store->begin(0); }).where, HasSubstr("000"));
  EXPECT_EQ(read_bytes(file), "foreign");
}

TEST(ChunkFolders, DiscardedChunksArePending) {
  const TempDir dir;
  const FakeJob job = job_with_folders();
  run_fake_job(dir.path(), job);
  const auto store =
      ChunkStore::open(dir.path(), job.identity, job.chunk_rows, ChunkStore::Open::kResume);
  store->discard({2, 3});
  EXPECT_THAT(store->pending(), ElementsAre(2, 3));
  EXPECT_FALSE(fs::exists(job.chunk_path(dir.path(), 3)));
}

}  // namespace
}  // namespace encode::testing
