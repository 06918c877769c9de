// Tests that a row of a matrix leads to its text, even if the run has dropped rows.
#include "search/hit_texts.h"

#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/store.h"

#include "store/fake_job.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// The texts "text 0", "text 1", .. of the 30 rows of a job.
class HitTextsOfAJob : public ::testing::Test {
 protected:
  HitTextsOfAJob() {
    std::string lines;
    for (int64_t row = 0; row < job_.identity.rows; ++row) lines += fmt::format("text {}\n", row);
    options_.path = dir_.write("texts.txt", lines);
    scan_ = scan_texts(options_, {});
  }
  std::map<int64_t, RowText> read(std::vector<int64_t> rows) const {
    const auto matrix = open_matrix(path_);
    return HitTexts(*matrix, options_, scan_).read(std::move(rows));
  }

  TempDir dir_;
  FakeJob job_;
  std::string path_ = job_.final_path(dir_.path());
  InputOptions options_;
  InputScan scan_;
};

TEST_F(HitTextsOfAJob, RowsAreFoundInAnyOrderAndMoreThanOnce) {
  run_fake_job(dir_.path(), job_);
  const auto texts = read({29, 0, 7, 29});
  ASSERT_EQ(texts.size(), 3U);
  for (const int64_t row : {0, 7, 29}) {
    EXPECT_EQ(texts.at(row).row, row);
    EXPECT_EQ(texts.at(row).utf8, fmt::format("text {}", row));
  }
}

TEST_F(HitTextsOfAJob, DroppedRowsAreSkipped) {
  job_.keep_chunks = true;
  run_fake_job(dir_.path(), job_);
  std::vector<SetAsideRow> dropped;
  for (const int64_t row : {0, 5, 6, 29})
    dropped.push_back({.row = row, .code = "device.cuda", .message = "illegal address"});
  ChunkStore::open(dir_.path(), job_.identity, job_.chunk_rows, ChunkStore::Open::kResume)
      ->assemble(path_, {.format = {}, .quarantine = QuarantinePolicy::kDrop, .set_aside = dropped},
                 {});
  // The matrix begins with the rows 1, 2, 3, 4, 7 of the input and ends with the row 28.
  const auto texts = read({0, 3, 4, 25});
  EXPECT_EQ(texts.at(0).row, 1);
  EXPECT_EQ(texts.at(3).row, 4);
  EXPECT_EQ(texts.at(4).row, 7);
  EXPECT_EQ(texts.at(25).row, 28);
  EXPECT_EQ(texts.at(25).utf8, "text 28");
}

TEST_F(HitTextsOfAJob, RowsWithoutTextAreNumberedAsInTheMatrix) {
  job_.keep_chunks = true;
  run_fake_job(dir_.path(), job_);
  const auto without_text = [&] {
    return HitTexts(*open_matrix(path_), options_, scan_).rows_without_text();
  };
  EXPECT_EQ(without_text(), std::vector<int64_t>());
  std::string lines;
  for (int64_t row = 0; row < job_.identity.rows; ++row)
    lines += row == 2 || row == 5 || row == 9 ? "\n" : " \n";
  options_.path = dir_.write("empty.txt", lines);
  scan_ = scan_texts(options_, {});
  EXPECT_EQ(without_text(), std::vector<int64_t>({2, 5, 9}));
  ChunkStore::open(dir_.path(), job_.identity, job_.chunk_rows, ChunkStore::Open::kResume)
      ->assemble(path_,
                 {.format = {},
                  .quarantine = QuarantinePolicy::kDrop,
                  .set_aside = {{.row = 0, .code = "device.cuda", .message = "m"},
                                {.row = 5, .code = "device.cuda", .message = "m"}}},
                 {});
  EXPECT_EQ(without_text(), std::vector<int64_t>({1, 7})) << "rows 0 and 5 have no vector";
}

// Without the list, the texts of other rows would be shown.
TEST_F(HitTextsOfAJob, AMatrixWithoutItsListOfDroppedRowsIsRefused) {
  job_.keep_chunks = true;
  run_fake_job(dir_.path(), job_);
  ChunkStore::open(dir_.path(), job_.identity, job_.chunk_rows, ChunkStore::Open::kResume)
      ->assemble(path_,
                 {.format = {},
                  .quarantine = QuarantinePolicy::kDrop,
                  .set_aside = {{.row = 0, .code = "device.cuda", .message = "m"}}},
                 {});
  std::filesystem::remove(set_aside_path(path_));
  EXPECT_THROW(read({0}), Error);
}

TEST_F(HitTextsOfAJob, ALongTextIsCutBetweenTwoCharacters) {
  run_fake_job(dir_.path(), job_);
  std::string lines = "x";
  for (int i = 0; i < 10'000; ++i) lines += "\xc3\xa4";
  const auto bytes = std::ssize(lines);
  for (int i = 0; i < 30; ++i) lines += "\nshort";
  options_.path = dir_.write("long.txt", lines);
  scan_ = scan_texts(options_, {});
  const RowText text = read({0}).at(0);
  EXPECT_EQ(text.bytes, bytes);
  EXPECT_EQ(std::ssize(text.utf8), HitTexts::kMostBytes - 1);
  EXPECT_EQ(text.utf8.back(), '\xa4');
}

}  // namespace
}  // namespace encode::testing
