// Tests that a matrix in a Parquet or Arrow file has the rows of the .npy file.
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/output_types.h"
#include "store/fake_job.h"
#include "store/matrix/matrix.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::vector<float> all_floats(const Matrix& matrix) {
  MatrixBuffer buffer;
  const std::span<const float> values = matrix.floats({0, matrix.rows()}, buffer);
  return {values.begin(), values.end()};
}

class MatrixInATable : public ::testing::TestWithParam<MatrixFormat> {
 protected:
  MatrixInATable() { run_fake_job(dir_.path(), job_); }
  std::string made(OutputType type, MatrixFormat file) const {
    std::string path = dir_.file("matrix" + suffix_of(file));
    reformat_final(job_.final_path(dir_.path()), path,
                   {.type = type, .ranges_file = "", .file = file, .columns = {{"text", "text"}}},
                   fake_texts());
    return path;
  }

  TempDir dir_;
  FakeJob job_;
};

TEST_P(MatrixInATable, HasTheRowsOfTheNpyFile) {
  for (const auto& [name, type] : kOutputTypes) {
    const auto npy = open_matrix(made(type, MatrixFormat::kNpy));
    const auto table = open_matrix(made(type, GetParam()));
    EXPECT_EQ(table->type(), type);
    EXPECT_EQ(table->rows(), npy->rows());
    EXPECT_EQ(table->dim(), npy->dim());
    EXPECT_EQ(all_floats(*table), all_floats(*npy)) << name;
  }
}

TEST_P(MatrixInATable, AnotherTableThanThatOfTheManifestIsDamage) {
  const std::string path = made(OutputType::kFloat32, GetParam());
  const std::string bytes = read_bytes(path);
  made(OutputType::kFloat16, GetParam());
  write_bytes(path, bytes);
  try {
    open_matrix(path);
    FAIL() << "the table of another type was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "matrix.damaged");
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MatrixInATable,
                         ::testing::Values(MatrixFormat::kParquet, MatrixFormat::kArrow),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace
}  // namespace encode::testing
