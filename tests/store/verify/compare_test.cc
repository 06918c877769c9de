#include "store/verify/compare.h"

#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/json.h"
#include "base/npy.h"
#include "store/fake_job.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Compare : public ::testing::Test {
 protected:
  std::string matrix(const std::string& name, const std::vector<float>& values, int64_t dim) const {
    std::string bytes =
        make_npy_header(static_cast<int64_t>(values.size()) / dim, dim, ItemType::kFloat32);
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
  EXPECT_EQ(report.different_rows, 2);
  ASSERT_THAT(report.worst, SizeIs(2)) << "row 0 does not differ";
  EXPECT_EQ(report.worst[0].row, 1);
  EXPECT_EQ(report.worst[1].row, 2);
  EXPECT_EQ(report.exit_code(), ExitCode::kOk) << "no limits were asked for";
}

TEST_F(Compare, PercentilesAreTheValuesOfRows) {
  std::vector<float> a;
  std::vector<float> b;
  for (int row = 1; row <= 1000; ++row) {
    a.push_back(0);
    b.push_back(static_cast<float>(row) * 1e-6F);
  }
  const Distribution d =
      compare_matrices(matrix("a.npy", a, 1), matrix("b.npy", b, 1), {}).max_difference;
  EXPECT_EQ(d.p0_1, 1e-6F);
  EXPECT_EQ(d.p1, 10 * 1e-6F);
  EXPECT_EQ(d.p50, 500 * 1e-6F);
  EXPECT_EQ(d.p99, 990 * 1e-6F);
  EXPECT_EQ(d.p99_9, 999 * 1e-6F);
  EXPECT_EQ(d.max, 1000 * 1e-6F);
}

TEST_F(Compare, PercentilesOfManyNearValuesAreGoodToAQuarterOfAThousandth) {
  constexpr int kRows = 100'000;
  std::vector<float> b;
  for (int row = 0; row < kRows; ++row) b.push_back(1 + static_cast<float>(row) / kRows);
  const Distribution d =
      compare_matrices(matrix("a.npy", std::vector<float>(kRows), 1), matrix("b.npy", b, 1), {})
          .max_difference;
  EXPECT_NEAR(d.p1, 1.01, 1.01 * 2.5e-4);
  EXPECT_NEAR(d.p50, 1.5, 1.5 * 2.5e-4);
  EXPECT_NEAR(d.p99, 1.99, 1.99 * 2.5e-4);
}

TEST_F(Compare, TheTableListsOnlyRowsThatDiffer) {
  const std::string a = matrix("a.npy", {1, 2, 3}, 1);
  const std::string same = render_table(compare_matrices(a, a, {}));
  EXPECT_THAT(same, HasSubstr("identical values"));
  EXPECT_THAT(same, HasSubstr("all rows are equal\n"));
  EXPECT_THAT(same, Not(HasSubstr("worst rows")));
  const std::string other = render_table(compare_matrices(a, matrix("b.npy", {1, 2, 4}, 1), {}));
  EXPECT_THAT(other, HasSubstr("1 of 3 rows differ"));
  EXPECT_THAT(other, HasSubstr("worst rows"));
  EXPECT_THAT(other, Not(HasSubstr("equal\n")));
}

// So a reader need not know that low cosines are bad and low differences are good.
TEST_F(Compare, TheTableNamesItsNumbersPlainly) {
  std::vector<float> a;
  std::vector<float> b;
  for (int i = 0; i < 200; ++i) {
    a.insert(a.end(), {1, 0});
    b.insert(b.end(), {1, i < 3 ? 0.5F : 0});
  }
  const std::string text =
      render_table(compare_matrices(matrix("a.npy", a, 2), matrix("b.npy", b, 2), {}));
  for (const char* line : {"worst row                        0.894427191    5.000e-01\n",
                           "1 row in 100 is worse than       0.894427191    5.000e-01\n",
                           "half of the rows are worse than  1.000000000    0.000e+00\n",
                           "best row                         1.000000000    0.000e+00\n"})
    EXPECT_THAT(text, HasSubstr(line));
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
  EXPECT_EQ(parse_json(render_json(report), {}, "report", "io.read")["exit_code"], 65);
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
  EXPECT_THAT(render_table(report), HasSubstr("equal values, but zeros of different signs"));
}

TEST_F(Compare, ShapesMustBeEqual) {
  const std::string a = matrix("a.npy", {1, 2, 3, 4}, 2);
  EXPECT_THROW(compare_matrices(a, matrix("b.npy", {1, 2, 3, 4}, 1), {}), Error);
}

// A float32 matrix, and the matrices of all types that are made of it. Its 12 columns do not fill
// the last byte of packed bits.
class CompareTypes : public ::testing::Test {
 protected:
  CompareTypes() {
    job_.identity.dim = 12;
    run_fake_job(dir_.path(), job_);
  }
  std::string of_type(OutputType type) const {
    std::string path = dir_.file(std::string(to_string(type)) + ".npy");
    reformat_final(float32_, path, {.type = type, .ranges_file = ""}, {});
    return path;
  }

  const TempDir dir_;
  FakeJob job_;
  const std::string float32_ = job_.final_path(dir_.path());
};

TEST_F(CompareTypes, EveryTypeIsEqualToItself) {
  for (const auto& [name, type] : kOutputTypes) {
    const std::string path = of_type(type);
    const CompareReport report = compare_matrices(path, path, {});
    EXPECT_TRUE(report.identical) << name;
    EXPECT_EQ(report.dim, 12) << name;
    EXPECT_EQ(report.a_type, type);
  }
}

// The number of a bucket differs from the value by at most half a bucket, which is at most 1 / 255.
TEST_F(CompareTypes, QuantizedRowsAreTheNumbersThatTheyStandFor) {
  const CompareReport half = compare_matrices(float32_, of_type(OutputType::kFloat16), {});
  EXPECT_LE(half.max_difference.max, 0x1p-11);
  EXPECT_GT(half.different_rows, 0);
  for (const OutputType type : {OutputType::kInt8, OutputType::kUint8}) {
    const CompareReport report = compare_matrices(float32_, of_type(type), {});
    EXPECT_LE(report.max_difference.max, 1.001 / 255) << to_string(type);
    EXPECT_GT(report.cosine.min, 0.999) << to_string(type);
    EXPECT_EQ(report.different_rows, 30) << to_string(type);
  }
  EXPECT_TRUE(
      compare_matrices(of_type(OutputType::kInt8), of_type(OutputType::kUint8), {}).identical);
  const CompareReport bits = compare_matrices(float32_, of_type(OutputType::kBinary), {});
  EXPECT_GT(bits.cosine.min, 0) << "a bit is the sign of its number";
  EXPECT_TRUE(
      compare_matrices(of_type(OutputType::kBinary), of_type(OutputType::kUbinary), {}).identical);
}

TEST_F(CompareTypes, IntegersWithoutWhatTheyStandForAreRefused) {
  const std::string int8 = of_type(OutputType::kInt8);
  const auto compare = [&] { compare_matrices(int8, float32_, {}); };
  EXPECT_NO_THROW(compare());
  const std::string ranges = read_bytes(ranges_path(int8));
  std::filesystem::remove(ranges_path(int8));
  EXPECT_EQ(code_of(compare), "store.damaged");
  write_bytes(ranges_path(int8), ranges);
  const std::string manifest = read_bytes(manifest_path(int8));
  write_bytes(manifest_path(int8), read_bytes(manifest_path(of_type(OutputType::kUbinary))));
  EXPECT_EQ(code_of(compare), "npy.matrix");
  std::filesystem::remove(manifest_path(int8));
  EXPECT_EQ(code_of(compare), "npy.matrix");
  const std::string float16 = of_type(OutputType::kFloat16);
  std::filesystem::remove(manifest_path(float16));
  std::filesystem::remove(manifest_path(float32_));
  EXPECT_TRUE(compare_matrices(float32_, float32_, {}).identical) << "floats need no manifest";
  EXPECT_TRUE(compare_matrices(float16, float16, {}).identical);
}

TEST_F(Compare, NoRowsAreEqual) {
  const std::string a = matrix("a.npy", {}, 2);
  EXPECT_EQ(compare_matrices(a, a, {.max_difference = 0, .min_cosine = 1}).exit_code(),
            ExitCode::kOk);
}

}  // namespace
}  // namespace encode::testing
