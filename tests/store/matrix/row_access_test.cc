// Tests that a few rows of a matrix are read without the memory of a mapping.
#include <algorithm>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "base/host.h"
#include "base/output_types.h"
#include "store/fake_job.h"
#include "store/matrix/matrix.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(RowAccess, GivesTheSameRows) {
  const TempDir dir;
  const FakeJob job;
  run_fake_job(dir.path(), job);
  const std::string path = dir.file("of_type.npy");
  for (const auto& [name, type] : kOutputTypes) {
    reformat_final(job.final_path(dir.path()), path, {.type = type, .ranges_file = ""}, {});
    const auto mapped = open_matrix(path);
    const auto file = open_matrix(path, RowAccess::kFewRows);
    MatrixBuffer of_mapped;
    MatrixBuffer of_file;
    for (const RowRange rows : {RowRange{0, 30}, RowRange{29, 30}, RowRange{7, 7}}) {
      const auto expected = mapped->floats(rows, of_mapped);
      const auto found = file->floats(rows, of_file);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end())) << name;
    }
  }
}

constexpr int64_t kRows = 1 << 18;
constexpr int64_t kDim = 64;  // 64 MiB in all
constexpr int64_t kStep = 128;

// Returns by how much the memory of this process grows while it reads every 128th row. No two of
// these rows lie on the same page.
int64_t growth_bytes(const std::string& path, RowAccess access) {
  const auto matrix = open_matrix(path, access);
  MatrixBuffer buffer;
  const int64_t before = resident_bytes();
  for (int64_t row = 0; row < matrix->rows(); row += kStep)
    EXPECT_EQ(matrix->floats({row, row + 1}, buffer).front(), static_cast<float>(row / kStep));
  return resident_bytes() - before;
}

TEST(RowAccess, OfFewRowsKeepsThePagesOfTheFileOutOfTheProcess) {
  const TempDir dir;
  const std::string path = dir.file("large.npy");
  {
    const CacheLock lock = CacheLock::acquire(dir.path());
    const auto writer =
        begin_final(path, {.name = "large", .fingerprint = "{}", .rows = kRows, .dim = kDim});
    for (int64_t row = 0; row < kRows; row += kStep)
      writer->append(std::vector<float>(kStep * kDim, static_cast<float>(row / kStep)));
    writer->publish({}, {.device = "cpu"});
  }
  constexpr int64_t kPages = kRows / kStep * 4096;  // 8 MiB
  EXPECT_LT(growth_bytes(path, RowAccess::kFewRows), kPages / 4);
  EXPECT_GT(growth_bytes(path, RowAccess::kMapped), kPages * 3 / 4) << "the measurement works";
}

TEST(RowAccess, AFileThatBecameShorterIsAnError) {
  const TempDir dir;
  const FakeJob job;
  run_fake_job(dir.path(), job);
  const auto matrix = open_matrix(job.final_path(dir.path()), RowAccess::kFewRows);
  std::filesystem::resize_file(job.final_path(dir.path()), 200);
  MatrixBuffer buffer;
  EXPECT_EQ(code_of([&] { matrix->stored({20, 21}, buffer); }), "io.read");
}

}  // namespace
}  // namespace encode::testing
