#include "encode/types.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/refused.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using testing::refused;

TEST(ComputeTypes, ComeBackFromTheirNames) {
  for (const auto type : {ComputeType::kFloat32, ComputeType::kBFloat16, ComputeType::kFloat16,
                          ComputeType::kInt8, ComputeType::kFp8}) {
    EXPECT_EQ(parse_compute_type(to_string(type), ""), type);
  }
  EXPECT_EQ(parse_compute_type("bf16", ""), ComputeType::kBFloat16);
  EXPECT_EQ(to_string(ComputeType::kBFloat16), "bfloat16");
}

TEST(PoolingModes, ComeBackFromTheirNames) {
  for (const auto mode :
       {PoolingMode::kCls, PoolingMode::kMean, PoolingMode::kMax, PoolingMode::kLastToken,
        PoolingMode::kWeightedMean, PoolingMode::kMeanSqrtLen}) {
    EXPECT_EQ(parse_pooling_mode(to_string(mode), ""), mode);
  }
  EXPECT_EQ(parse_pooling_mode("last", ""), PoolingMode::kLastToken);
}

TEST(Names, AreListedWhereOneIsWrong) {
  const auto error = refused([] { parse_compute_type("float8", "semantic.dtype"); });
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.where, "semantic.dtype");
  EXPECT_EQ(error.found, "'float8'");
  EXPECT_THAT(error.expected, HasSubstr("float32, bfloat16, float16"));
  EXPECT_EQ(refused([] { parse_pooling_mode("", "x"); }).exit_code, ExitCode::kConfig);
}

TEST(Names, AreFoundOrNot) {
  EXPECT_EQ(find_value(kMatrixFormats, "arrow"), MatrixFormat::kArrow);
  EXPECT_EQ(find_value(kComputeTypes, "bf16"), ComputeType::kBFloat16);
  EXPECT_EQ(find_value(kMatrixFormats, "csv"), std::nullopt);
}

// The first value of the table in the place of an unknown one would be a wrong result.
TEST(Names, ThatNobodyHasCheckedAreADefect) {
  EXPECT_EQ(value_of(kQuarantinePolicies, "drop"), QuarantinePolicy::kDrop);
  const auto error = refused([] { value_of(kQuarantinePolicies, "ignore"); });
  EXPECT_EQ(error.exit_code, ExitCode::kInternal);
  EXPECT_EQ(error.found, "'ignore'");
}

}  // namespace
}  // namespace encode
