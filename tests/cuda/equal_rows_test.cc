// Tests that the bits of a row do not depend on its place where some launches of the device do not
// give equal rows equal bits: STAND_IN_UNEQUAL_ROWS makes the products of these launches bad.
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "load_for_test.h"
#include "vectors.h"

namespace encode {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr testing::TestRows kRows = testing::kRowsOfAnyModel;

class EqualRows : public ::testing::TestWithParam<ComputeType> {
 protected:
  ~EqualRows() override { ::unsetenv("STAND_IN_UNEQUAL_ROWS"); }

  static void make_unequal(const char* rows) { ::setenv("STAND_IN_UNEQUAL_ROWS", rows, 1); }

  // The pooling reads one token, so the last layer has blocks.
  static LoadedEncoder load(const std::string& model, int64_t launch_tokens) {
    ResultOptions result;
    result.dtype = GetParam();
    result.normalize = true;
    result.pooling = PoolingMode::kCls;
    testing::TestModel opened = testing::open_test_model(model, result);
    opened.effective.launch_tokens = launch_tokens;
    EncoderOptions options;
    options.hardware.device = parse_device("cuda");
    return load_encoder(opened.directory, opened.effective, options);
  }

  // Encodes the rows in batches of several sizes, in which a row has several places.
  static void expect_equal_bits(Encoder& encoder, int64_t launch_tokens) {
    testing::TestRows rows = kRows;
    rows.launch_tokens = launch_tokens;
    const testing::Vectors expected = testing::encode_with(encoder, rows);
    for (const int64_t tokens : {40, 128, 1000}) {
      rows.launch_tokens = tokens;  // the budget of a batch
      EXPECT_EQ(testing::encode_with(encoder, rows).values, expected.values) << tokens;
    }
  }
};

auto warns(const std::string& text) { return Contains(Field(&LoadNote::message, HasSubstr(text))); }

TEST_P(EqualRows, InEveryLaunchChangeNothing) {
  const LoadedEncoder loaded = load("bert", kRows.launch_tokens);
  EXPECT_THAT(loaded.notes, Not(warns("smaller launches")));
  expect_equal_bits(*loaded.encoder, kRows.launch_tokens);
}

TEST_P(EqualRows, NeedSmallerLaunches) {
  for (const char* model : {"bert", "qwen2"}) {
    ::unsetenv("STAND_IN_UNEQUAL_ROWS");
    const testing::Vectors expected =
        testing::encode_with(*load(model, kRows.launch_tokens).encoder, kRows);
    make_unequal("256,128");
    const LoadedEncoder loaded = load(model, kRows.launch_tokens);
    EXPECT_THAT(loaded.notes, warns("at most 64 rows, blocks of 64"));
    expect_equal_bits(*loaded.encoder, kRows.launch_tokens);
    EXPECT_GE(testing::encode_with(*loaded.encoder, kRows).lowest_cosine(expected), 0.99999);
  }
}

TEST_P(EqualRows, NeedSmallerBlocks) {
  make_unequal("512");
  const LoadedEncoder loaded = load("bert", 1024);
  EXPECT_THAT(loaded.notes, warns("at most 1024 rows, blocks of 256"));
  expect_equal_bits(*loaded.encoder, 1024);
}

// The control of the tests above: a product that turns bad after the check makes rows differ.
TEST_P(EqualRows, AreMissedOnlyIfTheProductTurnsBadAfterTheCheck) {
  const LoadedEncoder loaded = load("bert", kRows.launch_tokens);
  const testing::Vectors before = testing::encode_with(*loaded.encoder, kRows);
  make_unequal("256");
  EXPECT_NE(testing::encode_with(*loaded.encoder, kRows).values, before.values);
}

TEST_P(EqualRows, AreRequired) {
  make_unequal("256,128,64");
  try {
    load("bert", kRows.launch_tokens);
    FAIL() << "the model was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUnavailable);
    EXPECT_EQ(error.detail().code.name(), "device.products");
    EXPECT_THAT(error.detail().found, HasSubstr("256 x 64 x 192"));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EqualRows,
                         ::testing::Values(ComputeType::kFloat32, ComputeType::kBFloat16,
                                           ComputeType::kFloat16, ComputeType::kFp8),
                         [](const auto& type) { return std::string(to_string(type.param)); });

}  // namespace
}  // namespace encode
