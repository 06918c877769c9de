// Tests the files of passages beside chunks and finals.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"
#include "fake_job.h"
#include "store/audit.h"
#include "store/passage_file.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Passages, FinalAndItsFilesAreTheRowsHoweverTheRunWasCutUp) {
  for (const int64_t chunk_rows : {1, 7, 30}) {
    const TempDir dir;
    FakeJob job = passages_job();
    job.chunk_rows = chunk_rows;
    job.set_aside = {3, 14};
    run_fake_job(dir.path(), job);
    const std::string path = job.final_path(dir.path());
    EXPECT_EQ(read_bytes(path), expected_final(job)) << chunk_rows;
    EXPECT_EQ(read_bytes(offsets_path(path)), expected_offsets(job)) << chunk_rows;
    EXPECT_EQ(read_bytes(passages_path(path)), expected_passages(job)) << chunk_rows;
    const Manifest manifest = read_manifest(path).value();
    EXPECT_TRUE(manifest.identity.passages);
    EXPECT_FALSE(manifest.identity.token_embeddings);
    // There are 30 rows, and row r has r % 4 vectors.
    EXPECT_EQ(manifest.vectors(), 7 * (0 + 1 + 2 + 3) + 0 + 1 - 3 - 2);
    EXPECT_EQ(final_state(path, job.identity, true), FinalState::kValid);
  }
}

TEST(Passages, StandardModeWritesTheSameBytes) {
  const TempDir dir;
  const FakeJob job = passages_job();
  const std::string path = job.final_path(dir.path());
  const RowRange rows = {.begin = 0, .end = job.identity.rows};
  const auto writer = begin_final(path, job.identity);
  writer->append(fake_vectors(rows, job.identity.dim));
  writer->append_lengths(fake_lengths(rows));
  for (int64_t row = 0; row < rows.end; ++row) writer->append_passages(fake_passages(row));
  RowStats stats;
  stats.passages = writer->rows_written();
  writer->publish(stats, {.device = "cpu"});
  EXPECT_EQ(read_bytes(path), expected_final(job));
  EXPECT_EQ(read_bytes(passages_path(path)), expected_passages(job));
}

TEST(Passages, OtherTypesKeepThem) {
  const TempDir dir;
  const FakeJob job = passages_job();
  run_fake_job(dir.path(), job);
  const std::string path = job.final_path(dir.path());
  reformat_final(path, path, {.type = OutputType::kFloat16, .ranges_file = ""}, {});
  EXPECT_EQ(read_bytes(passages_path(path)), expected_passages(job));
  EXPECT_EQ(final_state(path, job.identity, true), FinalState::kValid);
}

TEST(Passages, OfAnotherKindOfMatrixAreGone) {
  const TempDir dir;
  const FakeJob job = passages_job();
  run_fake_job(dir.path(), job);
  const std::string path = job.final_path(dir.path());
  FakeJob plain;
  plain.identity.fingerprint = R"({"seed":2})";
  plain.open = ChunkStore::Open::kFresh;
  run_fake_job(dir.path(), plain);
  EXPECT_FALSE(std::filesystem::exists(passages_path(path)));
  EXPECT_FALSE(std::filesystem::exists(offsets_path(path)));
  EXPECT_FALSE(read_manifest(path).value().identity.passages);
}

TEST(Passages, AreNeededForAllVectors) {
  const TempDir dir;
  const FakeJob job = passages_job();
  const auto store = ChunkStore::open(dir.path(), job.identity, 4, ChunkStore::Open::kResume);
  const auto writer = store->begin(0);
  writer->append(fake_vectors({.begin = 0, .end = 4}, job.identity.dim));
  writer->append_lengths(fake_lengths({.begin = 0, .end = 4}));
  for (const int64_t row : {1, 2}) writer->append_passages(fake_passages(row));
  EXPECT_EQ(error_of([&] { writer->commit({}, {.device = "cpu"}); }).code.name(), "store.misuse");
}

TEST(Passages, CanBeReadByTheirVectors) {
  const TempDir dir;
  const FakeJob job = passages_job();
  run_fake_job(dir.path(), job);
  const std::string path = passages_path(job.final_path(dir.path()));
  // Row 1 has vector 0, and row 2 has the vectors 1 and 2.
  const std::vector<int64_t> vectors = {0, 2};
  EXPECT_THAT(read_passages(path, vectors),
              ElementsAre(fake_passages(1).front(), fake_passages(2).back()));
  const std::vector<int64_t> beyond = {43};
  EXPECT_EQ(error_of([&] { read_passages(path, beyond); }).code.name(), "store.damaged");
  PassageReader reader(path);
  for (int64_t row = 0; row < job.identity.rows; ++row) {
    for (const PassagePlace& place : fake_passages(row)) EXPECT_EQ(reader.next(), place);
  }
  EXPECT_EQ(error_of([&] { reader.next(); }).code.name(), "store.damaged");
}

// A file with a right seal can still have the passages of another matrix.
class WrongPassages : public ::testing::Test {
 protected:
  // Returns what is wrong with a file of these passages for the rows 5 to 8.
  std::string check(const std::vector<PassagePlace>& passages, int64_t vectors) const {
    const std::string path = dir_.file("x.passages.npy");
    PassagesWriter writer(path);
    writer.append(passages);
    const FileSeal seal = writer.publish(static_cast<int64_t>(passages.size()));
    return check_passages(path, seal, {.rows = {.begin = 5, .end = 9}, .passages = vectors});
  }
  static PassagePlace place(int64_t row, int64_t number) {
    return {.row = row, .passage = number, .byte_end = 1, .char_end = 1};
  }

 private:
  TempDir dir_;
};

TEST_F(WrongPassages, AreNotTheRightOnes) {
  EXPECT_EQ(check({place(5, 0), place(5, 1), place(8, 0)}, 3), "");
  EXPECT_EQ(check({}, 0), "");
}

TEST_F(WrongPassages, AreFound) {
  EXPECT_THAT(check({place(5, 0), place(8, 0)}, 3), HasSubstr("2 passages for 3 vectors"));
  EXPECT_THAT(check({place(4, 0)}, 1), HasSubstr("a passage of row 4"));
  EXPECT_THAT(check({place(9, 0)}, 1), HasSubstr("a passage of row 9"));
  EXPECT_THAT(check({place(8, 0), place(5, 0)}, 2), HasSubstr("do not ascend"));
  EXPECT_THAT(check({place(5, 1)}, 1), HasSubstr("not numbered from 0"));
  EXPECT_THAT(check({place(5, 0), place(5, 2)}, 2), HasSubstr("not numbered from 0"));
  PassagePlace backwards = place(5, 0);
  backwards.byte_begin = 2;
  EXPECT_THAT(check({backwards}, 1), HasSubstr("has no place"));
}

}  // namespace
}  // namespace encode::testing
