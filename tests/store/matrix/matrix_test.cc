#include "store/matrix/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/half.h"
#include "store/fake_job.h"
#include "store/quantize.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

// A final matrix of 30 rows with 12 columns, so that packed bits do not fill the last byte.
class MatrixOfAJob : public ::testing::Test {
 protected:
  MatrixOfAJob() {
    job_.identity.dim = 12;
    run_fake_job(dir_.path(), job_);
  }
  std::unique_ptr<Matrix> open(OutputType type) const {
    const std::string path = dir_.file("of_type.npy");
    reformat_final(path_, path, {.type = type, .ranges_file = ""}, {});
    return open_matrix(path);
  }
  std::vector<float> floats(const Matrix& matrix, RowRange rows) const {
    MatrixBuffer buffer;
    const std::span<const float> values = matrix.floats(rows, buffer);
    return {values.begin(), values.end()};
  }

  TempDir dir_;
  FakeJob job_;
  std::string path_ = job_.final_path(dir_.path());
};

TEST_F(MatrixOfAJob, Float32RowsAreThoseThatWereWritten) {
  const auto matrix = open_matrix(path_);
  EXPECT_EQ(matrix->rows(), 30);
  EXPECT_EQ(matrix->dim(), 12);
  EXPECT_EQ(matrix->row_bytes(), 48);
  EXPECT_EQ(floats(*matrix, {0, 30}), fake_rows({0, 30}, 12));
  EXPECT_EQ(floats(*matrix, {7, 9}), fake_rows({7, 9}, 12));
  EXPECT_TRUE(floats(*matrix, {30, 30}).empty());
}

TEST_F(MatrixOfAJob, Float16RowsAreExact) {
  std::vector<float> expected = fake_rows({3, 30}, 12);
  for (float& value : expected) value = half_value(half_bits(value));
  EXPECT_EQ(floats(*open(OutputType::kFloat16), {3, 30}), expected);
}

TEST_F(MatrixOfAJob, IntegersAreTheirValues) {
  for (const OutputType type : {OutputType::kInt8, OutputType::kUint8}) {
    const auto matrix = open(type);
    MatrixBuffer buffer;
    const std::span<const std::byte> stored = matrix->stored({2, 30}, buffer);
    std::vector<float> expected;
    for (const std::byte byte : stored) {
      const auto value = static_cast<uint8_t>(byte);
      expected.push_back(type == OutputType::kUint8
                             ? static_cast<float>(value)
                             : static_cast<float>(std::bit_cast<int8_t>(value)));
    }
    EXPECT_EQ(floats(*matrix, {2, 30}), expected) << to_string(type);
    EXPECT_NE(*std::max_element(expected.begin(), expected.end()), 0);
  }
}

TEST_F(MatrixOfAJob, BitsAreTheSignsOfTheValues) {
  std::vector<float> expected = fake_rows({1, 30}, 12);
  for (float& value : expected) value = value > 0 ? 1.0F : 0.0F;
  for (const OutputType type : {OutputType::kBinary, OutputType::kUbinary}) {
    const auto matrix = open(type);
    EXPECT_EQ(matrix->columns(), 2);
    EXPECT_EQ(floats(*matrix, {1, 30}), expected) << to_string(type);
  }
}

TEST_F(MatrixOfAJob, WithoutAManifestItIsUnfinished) {
  std::filesystem::remove(manifest_path(path_));
  EXPECT_EQ(code_of([&] { open_matrix(path_); }), "matrix.unfinished");
}

TEST_F(MatrixOfAJob, ADamagedManifestIsRefused) {
  std::string text = read_bytes(manifest_path(path_));
  text[text.size() / 2] ^= 1;
  write_bytes(manifest_path(path_), text);
  EXPECT_EQ(code_of([&] { open_matrix(path_); }), "store.damaged");
}

TEST_F(MatrixOfAJob, AnotherShapeThanThatOfTheManifestIsDamage) {
  FakeJob other;
  other.identity.rows = 29;
  other.identity.dim = 12;
  const TempDir elsewhere;
  run_fake_job(elsewhere.path(), other);
  write_bytes(path_, read_bytes(other.final_path(elsewhere.path())));
  EXPECT_EQ(code_of([&] { open_matrix(path_); }), "matrix.damaged");
}

TEST_F(MatrixOfAJob, ACutFileIsRefused) {
  const std::string bytes = read_bytes(path_);
  write_bytes(path_, bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(code_of([&] { open_matrix(path_); }), "npy.header");
  write_bytes(path_, "");
  EXPECT_EQ(code_of([&] { open_matrix(path_); }), "npy.header");
}

TEST_F(MatrixOfAJob, NoFileIsNoInput) {
  EXPECT_EQ(code_of([&] { open_matrix(dir_.file("nowhere.npy")); }), "npy.open");
}

TEST(Elements, HalvesThatAreNotFiniteStaySo) {
  const std::vector<uint16_t> halves = {0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8000};
  std::vector<float> buffer;
  const std::span<const float> values = as_floats(
      {.bytes = std::as_bytes(std::span(halves)), .type = OutputType::kFloat16, .dim = 5}, buffer);
  EXPECT_EQ(values[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 0x1p-24F);
  EXPECT_TRUE(values[4] == 0 && std::signbit(values[4]));
}

TEST(Elements, EveryByteIsExact) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<std::byte>(i));
  std::vector<float> buffer;
  const std::span<const float> low =
      as_floats({.bytes = bytes, .type = OutputType::kUint8, .dim = 256}, buffer);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(low[static_cast<size_t>(i)], i);
  std::vector<float> others;
  const std::span<const float> with_sign =
      as_floats({.bytes = bytes, .type = OutputType::kInt8, .dim = 256}, others);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(with_sign[static_cast<size_t>(i)], i < 128 ? i : i - 256);
}

TEST(Elements, TheFirstColumnIsTheHighestBit) {
  std::vector<float> bits;
  const std::vector<std::byte> bytes = {std::byte{0b1010'0000}, std::byte{0b0100'0000}};
  EXPECT_THAT(as_floats({.bytes = bytes, .type = OutputType::kUbinary, .dim = 10}, bits),
              ElementsAre(1, 0, 1, 0, 0, 0, 0, 0, 0, 1));
}

}  // namespace
}  // namespace encode::testing
