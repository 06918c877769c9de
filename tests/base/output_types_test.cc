#include "base/output_types.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refused.h"

namespace encode {
namespace {

using testing::refused;

constexpr int64_t kBitsOfByte = 8;

// The names are in configs, in manifests and in the headers of matrices, so they never change.
TEST(OutputTypes, HaveTheNamesOfTheFiles) {
  EXPECT_EQ(names_of(kOutputTypes),
            (std::vector<std::string>{"float32", "float16", "int8", "uint8", "binary", "ubinary"}));
  EXPECT_EQ(names_of(kItemTypes), (std::vector<std::string>{"<f4", "<f2", "|i1", "|u1"}));
}

TEST(OutputTypes, ComeBackFromTheirNames) {
  std::set<std::string_view> names;
  for (const auto& [name, type] : kOutputTypes) {
    EXPECT_EQ(parse_output_type(name, ""), type);
    EXPECT_EQ(to_string(type), name);
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  for (const auto& [name, item] : kItemTypes) EXPECT_EQ(find_value(kItemTypes, name), item);
}

TEST(OutputTypes, AnItemHasAWholeNumberOfNumbers) {
  for (const auto& [name, type] : kOutputTypes) {
    const int64_t bits = item_facts(type).bytes * kBitsOfByte;
    ASSERT_GT(facts_of(type).bits, 0) << name;
    EXPECT_EQ(bits % facts_of(type).bits, 0) << name;
  }
}

// NumPy writes 'f' for floating-point numbers.
TEST(OutputTypes, FloatingItemsHaveAFloatingNameOfNumPy) {
  for (const auto& [name, item] : kItemTypes) EXPECT_EQ(facts_of(item).floating, name[1] == 'f');
}

TEST(OutputTypes, AVectorHasAsManyItemsAsItNeeds) {
  for (const auto& [name, type] : kOutputTypes) {
    for (const int64_t dim : {1, 7, 8, 9, 384}) {
      const int64_t bits = output_columns(type, dim) * item_facts(type).bytes * kBitsOfByte;
      EXPECT_GE(bits, dim * facts_of(type).bits) << name << " of " << dim;
      EXPECT_LT(bits - item_facts(type).bytes * kBitsOfByte, dim * facts_of(type).bits) << name;
    }
  }
  EXPECT_EQ(output_columns(OutputType::kFloat16, 9), 9);
  EXPECT_EQ(output_columns(OutputType::kBinary, 9), 2);
}

TEST(OutputTypes, OnlyStepsHaveRanges) {
  EXPECT_TRUE(has_ranges(OutputType::kInt8) && has_ranges(OutputType::kUint8));
  EXPECT_FALSE(has_ranges(OutputType::kFloat16) || has_ranges(OutputType::kUbinary));
}

TEST(OutputTypes, AreListedInWords) {
  EXPECT_EQ(output_types_in_words(), "float32, float16, int8, uint8, binary or ubinary");
  EXPECT_EQ(quantized_types_in_words(), "int8, uint8, binary and ubinary");
  EXPECT_EQ(ranged_types_in_words(), "int8 and uint8");
  EXPECT_EQ(item_types_in_words(), "float32, float16, int8 or uint8");
}

TEST(OutputTypes, OtherNamesAreRefused) {
  const auto unknown = refused([] { parse_output_type("int4", "semantic.output_dtype"); });
  EXPECT_EQ(unknown.expected, "one of: float32, float16, int8, uint8, binary, ubinary");
  const auto bfloat16 = refused([] { parse_output_type("bfloat16", "semantic.output_dtype"); });
  EXPECT_EQ(bfloat16.what, "a matrix cannot be bfloat16");
  EXPECT_EQ(bfloat16.expected, output_types_in_words());
}

}  // namespace
}  // namespace encode
