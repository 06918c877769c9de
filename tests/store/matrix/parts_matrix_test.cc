// Tests a merged matrix as one matrix, with rows that were dropped and in several types.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/vector_rows.h"

#include "store/fake_job.h"
#include "store/matrix/matrix.h"
#include "store/parts_list.h"
#include "store/verify/compare.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

// The rows 0 to 29 in three parts. The middle part has no row.
class PartsMatrixTest : public ::testing::Test {
 protected:
  std::string merge(OutputType type, const std::vector<std::vector<int64_t>>& dropped) {
    const std::vector<RowRange> ranges = {{0, 12}, {12, 12}, {12, 30}};
    PartsList list;
    for (size_t i = 0; i < ranges.size(); ++i) {
      FakeJob job;
      job.identity.first_row = ranges[i].begin;
      job.identity.rows = ranges[i].size();
      job.identity.dim = 12;
      const std::string folder = dir_.file(std::to_string(i));
      run_fake_job(folder, job);
      std::vector<SetAsideRow> set_aside;
      for (const int64_t row : dropped[i])
        set_aside.push_back({.row = row, .code = "device.cuda", .message = "m"});
      const std::string name = "x-" + std::to_string(i) + ".npy";
      const FinalContent content = {.format = {.type = type, .ranges_file = ""},
                                    .quarantine = QuarantinePolicy::kDrop,
                                    .set_aside = set_aside};
      ChunkStore::open(folder, job.identity, job.chunk_rows, ChunkStore::Open::kResume)
          ->assemble(dir_.file(name), content, {});
      list.add(name, read_manifest(dir_.file(name)).value());
    }
    const std::string path = dir_.file("x.parts.json");
    write_parts_list(path, list);
    return path;
  }

  TempDir dir_;
};

TEST_F(PartsMatrixTest, HasTheRowsOfAllPartsWithoutTheDroppedOnes) {
  const std::string path = merge(OutputType::kFloat32, {{3, 11}, {}, {12}});
  const auto matrix = open_matrix(path);
  ASSERT_EQ(matrix->rows(), 27);
  const VectorRows rows = read_vector_rows(path, matrix->manifest());
  EXPECT_THAT(rows.dropped(), ElementsAre(3, 11, 12));
  MatrixBuffer buffer;
  const std::span<const float> all = matrix->floats({0, 27}, buffer);
  for (int64_t vector = 0; vector < 27; ++vector) {
    const int64_t row = rows.row_of(vector);
    const std::span<const float> found = all.subspan(static_cast<size_t>(vector) * 12, 12);
    EXPECT_EQ(std::vector<float>(found.begin(), found.end()), fake_rows({row, row + 1}, 12)) << row;
  }
}

TEST_F(PartsMatrixTest, IsReadInEveryTypeAndByRow) {
  for (const OutputType type : {OutputType::kFloat32, OutputType::kFloat16, OutputType::kBinary}) {
    const std::string path = merge(type, {{}, {}, {}});
    const auto mapped = open_matrix(path);
    const auto few = open_matrix(path, RowAccess::kFewRows);
    EXPECT_EQ(mapped->type(), type);
    MatrixBuffer a;
    MatrixBuffer b;
    const std::span<const float> all = mapped->floats({0, 30}, a);
    EXPECT_EQ(all.size(), 30U * 12);
    for (int64_t row = 0; row < 30; ++row) {
      const std::span<const float> one = few->floats({row, row + 1}, b);
      EXPECT_TRUE(std::ranges::equal(one, all.subspan(static_cast<size_t>(row) * 12, 12)));
    }
  }
}

TEST_F(PartsMatrixTest, IsComparedOnlyWithTheSameRows) {
  const std::string path = merge(OutputType::kFloat32, {{3}, {}, {}});
  EXPECT_TRUE(compare_matrices(path, path, {}).identical);
  FakeJob whole;
  whole.identity.dim = 12;
  run_fake_job(dir_.file("whole"), whole);
  const std::string matrix = whole.final_path(dir_.file("whole"));
  EXPECT_EQ(code_of([&] { compare_matrices(matrix, path, {}); }), "compare.shape");
  const std::string full = merge(OutputType::kFloat32, {{}, {}, {}});
  EXPECT_TRUE(compare_matrices(matrix, full, {}).identical) << "the control";
}

TEST_F(PartsMatrixTest, AListThatDoesNotExistOrIsDamagedIsAnError) {
  EXPECT_EQ(code_of([&] { open_matrix(dir_.file("no.parts.json")); }), "npy.open");
  const std::string path = merge(OutputType::kFloat32, {{}, {}, {}});
  std::string text = read_bytes(path);
  text[text.size() / 2] ^= 1;
  write_bytes(path, text);
  EXPECT_EQ(code_of([&] { open_matrix(path); }), "store.damaged");
}

}  // namespace
}  // namespace encode::testing
