// Tests that the row of a vector is found, or an error is thrown, and never another row is found.
#include "encode/vector_rows.h"

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "base/refused.h"
#include "store/fake_job.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(VectorRows, EachVectorLeadsToItsRowAndBack) {
  std::mt19937 random(3);  // NOLINT(cert-msc32-c, cert-msc51-cpp): the same rows in every run
  for (int round = 0; round < 200; ++round) {
    const auto rows = static_cast<int64_t>(random() % 40);
    std::vector<int64_t> dropped;
    std::vector<int64_t> kept;
    for (int64_t row = 0; row < rows; ++row) (random() % 3 == 0 ? dropped : kept).push_back(row);
    const VectorRows map({0, rows}, dropped, "list");
    EXPECT_EQ(map.vectors(), std::ssize(kept));
    for (int64_t vector = 0; vector < map.vectors(); ++vector) {
      const int64_t row = kept[static_cast<size_t>(vector)];
      EXPECT_EQ(map.row_of(vector), row);
      EXPECT_EQ(map.vector_of(row), vector);
    }
    for (const int64_t row : dropped) EXPECT_EQ(map.vector_of(row), std::nullopt);
  }
}

TEST(VectorRows, AListThatIsNotOneOfTheMatrixIsRefused) {
  for (const std::vector<int64_t>& dropped :
       {std::vector<int64_t>{-1}, {30}, {5, 5}, {6, 5}, {0, 30}, {-1, 3}}) {
    const ErrorDetail error = refused([&] { VectorRows({0, 30}, dropped, "list"); });
    EXPECT_EQ(error.code.name(), "store.damaged");
    EXPECT_EQ(error.where, "list");
  }
  EXPECT_EQ(VectorRows({0, 30}, {0, 29}, "list").vectors(), 28);
}

// A job of 30 rows without the rows 0, 5 and 29, and a combined matrix of it and another one.
class VectorRowsOfAJob : public ::testing::Test {
 protected:
  VectorRowsOfAJob() {
    other_.identity.name = "train_commit";
    for (const FakeJob& job : {job_, other_}) {
      FakeJob kept = job;
      kept.keep_chunks = true;
      run_fake_job(dir_.path(), kept);
      drop(job, {0, 5, 29});
    }
    combine_finals({path(job_), path(other_)}, combined_, "all");
  }
  std::string path(const FakeJob& job) const { return job.final_path(dir_.path()); }
  void drop(const FakeJob& job, const std::vector<int64_t>& rows) const {
    std::vector<SetAsideRow> set_aside;
    for (const int64_t row : rows)
      set_aside.push_back({.row = row, .code = "device.cuda", .message = "illegal address"});
    ChunkStore::open(dir_.path(), job.identity, job.chunk_rows, ChunkStore::Open::kResume)
        ->assemble(path(job),
                   {.format = {}, .quarantine = QuarantinePolicy::kDrop, .set_aside = set_aside},
                   {});
  }
  static VectorRows rows_of(const std::string& path) {
    return read_vector_rows(path, read_manifest(path).value());
  }
  ErrorDetail refusal(const std::string& path) const {
    return refused([&] { rows_of(path); });
  }

  TempDir dir_;
  FakeJob job_;
  FakeJob other_;
  std::string combined_ = dir_.file("combined.npy");
};

TEST_F(VectorRowsOfAJob, AreReadFromTheListBesideTheMatrix) {
  for (const std::string& matrix : {path(job_), combined_}) {
    const VectorRows rows = rows_of(matrix);
    EXPECT_EQ(rows.range().size(), 30);
    EXPECT_EQ(rows.vectors(), 27);
    EXPECT_EQ(rows.row_of(0), 1);
    EXPECT_EQ(rows.row_of(4), 6);
    EXPECT_EQ(rows.row_of(26), 28);
  }
}

TEST_F(VectorRowsOfAJob, AMissingListIsNotAnEmptyOne) {
  std::filesystem::remove(set_aside_path(path(job_)));
  for (const std::string& matrix : {path(job_), combined_}) {
    const ErrorDetail error = refusal(matrix);
    EXPECT_EQ(error.exit_code, ExitCode::kNoInput) << matrix;
    EXPECT_EQ(error.where, set_aside_path(path(job_)));
  }
}

// The checksum of a manifest is right in each of these cases.
TEST_F(VectorRowsOfAJob, TheManifestMustHaveTheNumberOfTheRows) {
  const Manifest good = read_manifest(path(job_)).value();
  for (const int64_t count : {1, 2, 4, 30}) {
    Manifest manifest = good;
    manifest.dropped_rows = count;
    EXPECT_EQ(code_of([&] { read_vector_rows(path(job_), manifest); }), "store.damaged") << count;
  }
  Manifest listless = good;
  listless.set_aside.reset();
  EXPECT_EQ(code_of([&] { read_vector_rows(path(job_), listless); }), "store.damaged");
  Manifest short_input = good;
  short_input.identity.rows = 29;
  EXPECT_EQ(code_of([&] { read_vector_rows(path(job_), short_input); }), "store.damaged");
}

TEST_F(VectorRowsOfAJob, OfACombinedMatrixNeedItsOwnFirstPart) {
  drop(job_, {0, 5, 28});
  EXPECT_EQ(refusal(combined_).what, "a combined matrix was made from another matrix");
  std::filesystem::remove(path(other_));
  drop(job_, {0, 5, 29});
  EXPECT_EQ(rows_of(combined_).row_of(26), 28) << "the other parts are not needed";
  std::filesystem::remove(manifest_path(path(job_)));
  EXPECT_EQ(refusal(combined_).what, "a part is missing that has the list of the dropped rows");
}

}  // namespace
}  // namespace encode::testing
