// Tests attacks on model.safetensors, one test for each attack.
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "model_dir/limits.h"
#include "model_dir/tensor_types.h"
#include "support/safetensors_writer.h"
#include "tiny_model.h"

namespace encode {
namespace {

using testing::Expected;
using testing::safetensors_raw;
using testing::TinyModel;

struct Attack {
  std::string name;
  // Makes the bytes of model.safetensors when a test needs them, because some are large.
  std::function<std::string()> file;
  Expected expected;
};

std::string entry(const std::string& name, const std::string& shape, const std::string& offsets,
                  const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::string one(const std::string& shape, const std::string& offsets,
                const std::string& dtype = "F32") {
  return safetensors_raw("{" + entry("a", shape, offsets, dtype) + "}", std::string(16, 'x'));
}

std::string two(const std::string& second_offsets, size_t data_bytes) {
  return safetensors_raw(
      "{" + entry("a", "[4]", "[0,16]") + "," + entry("b", "[4]", second_offsets) + "}",
      std::string(data_bytes, 'x'));
}

std::string length_only(uint64_t length) {
  std::string file(100, 'x');
  std::memcpy(file.data(), &length, sizeof length);
  return file;
}

std::string repeat(std::string_view text, size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string many_tensors(size_t count) {
  std::string header = "{";
  for (size_t i = 0; i < count; ++i) {
    header += (i == 0 ? "" : ",") + entry("t" + fmt::to_string(i), "[4]", "[0,16]");
  }
  return safetensors_raw(header + "}", std::string(16, 'x'));
}

const std::string kGood = entry("a", "[4]", "[0,16]");
const std::string kData(16, 'x');

std::vector<Attack> length_attacks() {
  return {
      {"EmptyFile",
       [] { return std::string(); },
       {"model.header_size", "impossible length", "2 to 16777216", "0 bytes"}},
      {"ShorterThanItsLengthField",
       [] { return std::string("abc"); },
       {"model.header_size", "impossible length", "less than the size", "0 bytes, in a file of 3"}},
      {"LengthZero",
       [] { return length_only(0); },
       {"model.header_size", "impossible length", "2 to", "0 bytes"}},
      {"LengthBeyondFile",
       [] { return length_only(93); },
       {"model.header_size", "impossible length", "less than the size", "93 bytes, in a file of"}},
      {"HeaderOf100Megabytes",
       [] { return length_only(100'000'000); },
       {"model.header_size", "impossible", "16777216", "100000000"}},
      {"LengthNegativeAsSigned",
       [] { return length_only(0xffff'ffff'ffff'fff8); },
       {"model.header_size", "impossible", "2 to", "18446744073709551608"}},
      {"GitLfsPointer",
       [] {
         return std::string(
             "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n");
       },
       {"model.header_size", "impossible length", "2 to", "bytes"}},
  };
}

std::vector<Attack> syntax_attacks() {
  return {
      {"NotAnObject",
       [] { return safetensors_raw("[]", ""); },
       {"model.header", "not a JSON object", "'{'", "'[]'"}},
      {"SpaceBeforeTheBrace",
       [] { return safetensors_raw(" {" + kGood + "}", kData); },
       {"model.header", "not a JSON object", "'{'", "' {"}},
      {"CutJson",
       [] { return safetensors_raw("{" + kGood, kData); },
       {"model.header", "malformed JSON", "JSON",
        "the end of the text inside the document, at byte "}},
      {"NotANumber",
       [] { return safetensors_raw(R"({"a":NaN})", kData); },
       {"model.header", "malformed JSON", "JSON", "NaN, which JSON does not have, at byte 5 of"}},
      {"TextAfterTheObject",
       [] { return safetensors_raw("{" + kGood + "}x", kData); },
       {"model.header", "malformed", "JSON", "text after the end of the document, at byte "}},
      {"NulAfterTheObject",
       [] { return safetensors_raw("{" + kGood + "}" + std::string(1, '\0') + "PK", kData); },
       {"model.header", "not a JSON object", "", "NUL"}},
      {"InvalidUtf8",
       [] { return safetensors_raw("{\"\xff\":1}", kData); },
       {"model.header", "malformed JSON", "JSON", R"(unexpected text: \xff)"}},
  };
}

// Keys that appear twice, and keys that are missing or unknown.
std::vector<Attack> key_attacks() {
  return {
      {"NoTensor",
       [] { return safetensors_raw("{}", ""); },
       {"model.header", "has no tensor", "at least one tensor", "no tensor"}},
      {"DuplicateTensor",
       [] { return safetensors_raw("{" + kGood + "," + kGood + "}", kData); },
       {"model.header", "appears twice", "unique keys", "'a' again"}},
      {"DuplicateField",
       [] {
         return safetensors_raw(
             R"({"a":{"dtype":"F32","dtype":"F16","shape":[4],"data_offsets":[0,16]}})", kData);
       },
       {"model.header", "appears twice", "unique keys", "'dtype' again"}},
      {"DuplicateMetadata",
       [] {
         return safetensors_raw(R"({"__metadata__":{},"__metadata__":{},)" + kGood + "}", kData);
       },
       {"model.header", "appears twice", "unique", "__metadata__"}},
      {"UnknownField",
       [] {
         return safetensors_raw(
             R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"evil":1}})", kData);
       },
       {"model.header", "not in the format", "dtype", "'evil'"}},
      {"MissingField",
       [] { return safetensors_raw(R"({"a":{"dtype":"F32","shape":[4]}})", kData); },
       {"model.header", "not in the format", "data_offsets", "incomplete"}},
  };
}

// Values of a wrong type, and values beyond the limits of size, number and depth.
std::vector<Attack> value_attacks() {
  return {
      {"MetadataNotStrings",
       [] { return safetensors_raw(R"({"__metadata__":{"x":1},)" + kGood + "}", kData); },
       {"model.header", "not in the format", "strings", "1, in the entry '__metadata__'"}},
      {"MetadataOf2Megabytes",
       [] {
         return safetensors_raw(
             R"({"__metadata__":{"x":")" + std::string(2 << 20, 'y') + "\"}," + kGood + "}", kData);
       },
       {"model.header", "not in the format", "1 MiB", "more than 1048576 bytes"}},
      {"TensorIsANumber",
       [] { return safetensors_raw(R"({"a":1})", kData); },
       {"model.header", "not in the format", "dtype", "1, in the entry 'a'"}},
      {"NameTooLong",
       [] {
         return safetensors_raw("{" + entry(std::string(513, 'n'), "[4]", "[0,16]") + "}", kData);
       },
       {"model.header", "not in the format", "1 to 512", "513 bytes"}},
      {"EmptyName",
       [] { return safetensors_raw("{" + entry("", "[4]", "[0,16]") + "}", kData); },
       {"model.header", "not in the format", "1 to 512", "0 bytes"}},
      {"DepthOfAMillion",
       [] { return safetensors_raw("{\"a\":" + repeat("[", 1'000'000), kData); },
       {"model.header", "not in the format", "", "an array"}},
      {"ObjectsAMillionDeep",
       [] { return safetensors_raw(repeat("{\"a\":", 1'000'000), kData); },
       {"model.header", "not in the format", "", ""}},
      {"EightMillionNumbers",
       [] {
         return safetensors_raw("{\"a\":{\"shape\":[" + repeat("1,", 8'000'000) + "1]}}", kData);
       },
       {"model.header", "not in the format", "", "more than 8 numbers"}},
      {"TooManyTensors",
       [] { return many_tensors(100'001); },
       {"model.header", "not in the format", "", "more than 100000 tensors"}},
  };
}

std::vector<Attack> shape_attacks() {
  return {
      // 4194305 x 4194305 x 211106198978564 x 4 bytes is 16 modulo 2^64.
      {"ShapeWrapsTo4",
       [] { return one("[4194305,4194305,211106198978564]", "[0,16]"); },
       {"model.shape", "impossible shape", "2^63", "4194305"}},
      {"ShapeWrapsWithinTheDimensionLimit",
       [] { return one("[1099511627776,1099511627776,1099511627776]", "[0,16]"); },
       {"model.shape", "impossible shape", "2^63 bytes", "1099511627776"}},
      {"ZeroDimension",
       [] { return one("[0]", "[0,0]"); },
       {"model.shape", "impossible shape", "1 to 2^40", "[0]"}},
      {"NegativeDimension",
       [] { return one("[-4]", "[0,16]"); },
       {"model.header", "not in the format", "shape", "-4"}},
      {"FractionalDimension",
       [] { return one("[4.5]", "[0,16]"); },
       {"model.header", "not in the format", "shape", "4.5"}},
      {"DimensionBeyond64Bits",
       [] { return one("[18446744073709551616]", "[0,16]"); },
       {"model.header", "not in the format", "", "18446744073709551616"}},
      {"RankOfNine",
       [] { return one("[1,1,1,1,1,1,1,1,4]", "[0,16]"); },
       {"model.header", "not in the format", "", "more than 8"}},
      {"UnknownDtype",
       [] { return one("[4]", "[0,16]", "Q4_K"); },
       {"model.dtype", "unknown dtype", "F32, F16, BF16 or F64", "'Q4_K'"}},
  };
}

std::vector<Attack> offset_attacks() {
  return {
      {"SizeDoesNotFitTheShape",
       [] { return one("[3]", "[0,16]"); },
       {"model.offsets", "do not fit", "12 bytes (F32 [3])", "[0, 16]"}},
      {"EndBeforeBegin",
       [] { return one("[4]", "[16,0]"); },
       {"model.offsets", "do not fit", "16 bytes", "[16, 0]"}},
      {"EndBeyondFile",
       [] { return one("[8]", "[0,32]"); },
       {"model.offsets", "do not fit", "within the 16 bytes", "[0, 32]"}},
      {"OffsetsNearTheIntegerLimit",
       [] { return one("[4]", "[9223372036854775791,9223372036854775807]"); },
       {"model.offsets", "do not fit", "16 bytes", "9223372036854775791"}},
      {"OffsetsBeyond63Bits",
       [] { return one("[4]", "[18446744073709551600,0]"); },
       {"model.header", "not in the format", "", "18446744073709551600"}},
      {"ThreeOffsets",
       [] { return one("[4]", "[0,16,16]"); },
       {"model.header", "not in the format", "", "more than 2 numbers"}},
      {"Overlap",
       [] { return two("[8,24]", 24); },
       {"model.offsets", "tensor 'b' overlaps tensor 'a'", "start at 16", "8"}},
      {"SharedBytes",
       [] { return two("[0,16]", 16); },
       {"model.offsets", "overlaps", "start at 16", "0"}},
      {"Hole",
       [] { return two("[20,36]", 36); },
       {"model.offsets", "leaves a hole after tensor 'a'", "start at 16", "20"}},
      {"HoleAtTheBeginning",
       [] {
         return safetensors_raw("{" + entry("a", "[4]", "[4,20]") + "}", std::string(20, 'x'));
       },
       {"model.offsets", "hole after the header", "start at 0", "4"}},
      {"BytesAfterTheLastTensor",
       [] { return safetensors_raw("{" + kGood + "}", kData + "PK\3\4"); },
       {"model.file_size", "goes on after its last tensor", "bytes", "bytes"}},
  };
}

std::string attack_name(const ::testing::TestParamInfo<Attack>& info) { return info.param.name; }
void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

class HostileSafetensors : public ::testing::TestWithParam<Attack> {};

TEST_P(HostileSafetensors, IsRefused) {
  const TinyModel model;
  model.write("model.safetensors", GetParam().file());
  testing::expect_refused([&model] { model.open(); }, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Length, HostileSafetensors, ::testing::ValuesIn(length_attacks()),
                         attack_name);
INSTANTIATE_TEST_SUITE_P(Syntax, HostileSafetensors, ::testing::ValuesIn(syntax_attacks()),
                         attack_name);
INSTANTIATE_TEST_SUITE_P(Key, HostileSafetensors, ::testing::ValuesIn(key_attacks()), attack_name);
INSTANTIATE_TEST_SUITE_P(Value, HostileSafetensors, ::testing::ValuesIn(value_attacks()),
                         attack_name);
INSTANTIATE_TEST_SUITE_P(Shape, HostileSafetensors, ::testing::ValuesIn(shape_attacks()),
                         attack_name);
INSTANTIATE_TEST_SUITE_P(Offset, HostileSafetensors, ::testing::ValuesIn(offset_attacks()),
                         attack_name);

// A length that fits the file is still refused if it is above the limit of a header.
TEST(SafetensorsFile, SparseFileOf20GigabytesWithAHeaderOf100MegabytesIsRefusedWithoutReadingIt) {
  const TinyModel model;
  model.write("model.safetensors", length_only(100'000'000));
  ASSERT_EQ(::truncate(model.file("model.safetensors").c_str(), int64_t{20} << 30), 0);
  testing::expect_refused([&model] { model.open(); }, {"model.header_size", "impossible length",
                                                       "16777216", "100000000 bytes"});
}

TEST(SafetensorsFile, CutAtAnyByteIsRefused) {
  const std::string file = testing::safetensors_bytes(
      {testing::zeros_tensor("a", {2, 2}), testing::zeros_tensor("b", {3})});
  const TinyModel model;
  for (size_t size = 0; size < file.size(); ++size) {
    model.write("model.safetensors", file.substr(0, size));
    EXPECT_THROW(model.open(), Error) << size << " of " << file.size() << " bytes";
  }
}

TEST(SafetensorsFile, SoundFileGivesEveryTensorsPlace) {
  const TinyModel model;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  // The header names "b" first. A reader may not assume that the order of the header is the order
  // of the data or of the names.
  const std::string file = testing::safetensors_bytes(
      {testing::f32_tensor("b", {2, 3}, values), {"ids", "I64", {}, std::string(8, '\1')}});
  model.write("model.safetensors", file);
  const ModelDirectory directory = model.open();
  ASSERT_EQ(directory.tensors.size(), 2u);
  const TensorInfo& b = directory.tensors.at("b");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(b.size_bytes, 24);
  float first = 0;
  std::memcpy(&first, file.data() + b.offset_bytes, sizeof first);
  EXPECT_EQ(first, 1.0f);
  EXPECT_EQ(directory.tensors.at("ids").size_bytes, 8);  // a scalar
  EXPECT_EQ(directory.tensors.at("ids").dtype, "I64");
}

TEST(SafetensorsFile, PaddedHeaderAndMetadataAreAccepted) {
  const TinyModel model;
  model.write("model.safetensors",
              safetensors_raw(R"({"__metadata__":{"format":"pt"},)" + kGood + "}      ", kData));
  EXPECT_EQ(model.open().tensors.size(), 1u);
}

TEST(CheckedBytes, IsTheProductUpToItsLimits) {
  const std::vector<int64_t> shape = {3, 5};
  EXPECT_EQ(checked_bytes(shape, "BF16", "x"), 30);
  EXPECT_EQ(checked_bytes({}, "F64", "x"), 8);
  const std::vector<int64_t> largest = {kMaxDim,
                                        (int64_t{1} << 20) - 1};  // just below 2^63 bytes of F64
  EXPECT_EQ(checked_bytes(largest, "F64", "x"), kMaxDim * ((int64_t{1} << 20) - 1) * 8);
  const std::vector<int64_t> too_large = {kMaxDim, int64_t{1} << 20};
  EXPECT_THROW(checked_bytes(too_large, "F64", "x"), Error);
}

}  // namespace
}  // namespace encode
