#include "encode/types.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/pooling_modes.h"
#include "base/refused.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::refused;
using ::testing::StartsWith;

TEST(ComputeTypes, ComeBackFromTheirNames) {
  for (const auto type : {ComputeType::kFloat32, ComputeType::kBFloat16, ComputeType::kFloat16,
                          ComputeType::kInt8, ComputeType::kFp8}) {
    EXPECT_EQ(parse_compute_type(to_string(type), ""), type);
  }
  EXPECT_EQ(parse_compute_type("bf16", ""), ComputeType::kBFloat16);
  EXPECT_EQ(to_string(ComputeType::kBFloat16), "bfloat16");
}

TEST(PoolingModes, ComeBackFromTheirNames) {
  for (const auto& [name, mode] : kPoolingModes) {
    EXPECT_EQ(parse_pooling_mode(name, ""), mode);
    EXPECT_EQ(parse_pooling_mode(to_string(mode), ""), mode);
  }
  EXPECT_THAT(names_of(kPoolingModes),
              ElementsAre("cls", "mean", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens",
                          "none", "last", "mean_sqrt_len"));
}

// The places are 1, 2, 3 and so on, so that no two modes have the same place.
TEST(PoolingModes, HaveASwitchAndAPlaceInAModelDirectory) {
  int place = 0;
  for (const PoolingMode mode : kDirectoryPoolings) {
    EXPECT_EQ(facts_of(mode).place, ++place) << to_string(mode);
    EXPECT_THAT(std::string(facts_of(mode).switch_name), StartsWith("pooling_mode_"));
  }
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

// If an unknown name stood for the first value of the table, the result would be wrong.
TEST(Names, ThatNobodyHasCheckedAreADefect) {
  EXPECT_EQ(value_of(kQuarantinePolicies, "drop"), QuarantinePolicy::kDrop);
  const auto error = refused([] { value_of(kQuarantinePolicies, "ignore"); });
  EXPECT_EQ(error.exit_code, ExitCode::kInternal);
  EXPECT_EQ(error.found, "'ignore'");
}

}  // namespace
}  // namespace encode
