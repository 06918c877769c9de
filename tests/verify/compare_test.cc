#include "verify/compare.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/npy.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Compare : public ::testing::Test {
 protected:
  std::string matrix(const std::string& name, const std::vector<float>& values, int64_t dim) const {
    std::string bytes = make_npy_header(static_cast<int64_t>(values.size()) / dim, dim, "<f4");
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return dir_.write(name, bytes);
  }

  const TempDir dir_;
};

TEST_F(Compare, EqualMatricesAreIdentical) {
  const std::string a = matrix("a.npy", {1, 2, 3, 4, 0, 0}, 2);
  const CompareReport report = compare_matrices(a, a, {.max_difference = 0, .min_cosine = 1});
  EXPECT_TRUE(report.identical);
  EXPECT_EQ(report.cosine.min, 1);
  EXPECT_EQ(report.max_difference.max, 0);
  EXPECT_EQ(report.exit_code(), ExitCode::kOk);
}

TEST_F(Compare, DifferencesAreMeasuredByRow) {
  const std::string a = matrix("a.npy", {1, 0, 1, 0, 1, 0}, 2);
  const std::string b = matrix("b.npy", {1, 0, 0, 1, 0.5F, 0}, 2);
  const CompareReport report = compare_matrices(a, b, {});
  EXPECT_FALSE(report.identical);
  EXPECT_DOUBLE_EQ(report.cosine.min, 0);
  EXPECT_DOUBLE_EQ(report.cosine.max, 1);
  EXPECT_DOUBLE_EQ(report.cosine.mean, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.max_difference.max, 1);
  EXPECT_DOUBLE_EQ(report.max_difference.mean, 0.5);
  ASSERT_THAT(report.worst, SizeIs(3));
  EXPECT_EQ(report.worst[0].row, 1);
  EXPECT_EQ(report.worst[1].row, 2);
  EXPECT_EQ(report.exit_code(), ExitCode::kOk) << "no limits were asked for";
}

TEST_F(Compare, PercentilesAreGoodToOnePercent) {
  std::vector<float> a;
  std::vector<float> b;
  for (int row = 1; row <= 1000; ++row) {
    a.push_back(0);
    b.push_back(static_cast<float>(row) * 1e-6F);
  }
  const Distribution d =
      compare_matrices(matrix("a.npy", a, 1), matrix("b.npy", b, 1), {}).max_difference;
  EXPECT_NEAR(d.p1, 1e-5, 1e-7);
  EXPECT_NEAR(d.p50, 5e-4, 5e-6);
  EXPECT_NEAR(d.p99, 9.9e-4, 1e-5);
  EXPECT_FLOAT_EQ(static_cast<float>(d.max), 1e-3F);
}

TEST_F(Compare, LimitsDecideTheExitCode) {
  const std::string a = matrix("a.npy", {1, 0}, 2);
  const std::string b = matrix("b.npy", {1, 1e-3F}, 2);
  EXPECT_THAT(compare_matrices(a, b, {.max_difference = 2e-3, .min_cosine = 0.99}).failures,
              IsEmpty());
  const CompareReport report =
      compare_matrices(a, b, {.max_difference = 1e-4, .min_cosine = 0.9999999});
  EXPECT_THAT(report.failures, SizeIs(2));
  EXPECT_EQ(report.exit_code(), ExitCode::kData);
  EXPECT_THAT(render_table(report), HasSubstr("FAILED  max |a - b| is 0.001"));
  EXPECT_EQ(parse_json(render_json(report), {}, "report", "test")["exit_code"], 65);
}

TEST_F(Compare, NonFiniteRowsFailAlways) {
  const std::string a = matrix("a.npy", {1, 0, 1, 0}, 2);
  const std::string b = matrix("b.npy", {1, 0, std::numeric_limits<float>::quiet_NaN(), 0}, 2);
  const CompareReport report = compare_matrices(a, b, {});
  EXPECT_EQ(report.non_finite_rows, 1);
  EXPECT_EQ(report.exit_code(), ExitCode::kData);
}

TEST_F(Compare, ZeroRowAgainstAnotherHasNoDirection) {
  const std::string a = matrix("a.npy", {0, 0}, 2);
  const std::string b = matrix("b.npy", {1, 0}, 2);
  EXPECT_EQ(compare_matrices(a, b, {}).cosine.min, 0);
}

TEST_F(Compare, SignOfZeroIsADifferenceOfBitsOnly) {
  const CompareReport report =
      compare_matrices(matrix("a.npy", {0.0F}, 1), matrix("b.npy", {-0.0F}, 1), {});
  EXPECT_FALSE(report.identical);
  EXPECT_EQ(report.cosine.min, 1);
}

TEST_F(Compare, ShapesMustBeEqual) {
  const std::string a = matrix("a.npy", {1, 2, 3, 4}, 2);
  EXPECT_THROW(compare_matrices(a, matrix("b.npy", {1, 2, 3, 4}, 1), {}), Error);
}

TEST_F(Compare, NoRowsAreEqual) {
  const std::string a = matrix("a.npy", {}, 2);
  EXPECT_EQ(compare_matrices(a, a, {.max_difference = 0, .min_cosine = 1}).exit_code(),
            ExitCode::kOk);
}

}  // namespace
}  // namespace encode::testing
