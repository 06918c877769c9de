// Tests rows of token ids, runs without pooling, vectors that a 16-bit type cannot hold, and the
// self-test.
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "real_run.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Rows : public ::testing::TestWithParam<const char*> {
 protected:
  // Returns JSONL with the token ids of "abc" and "de" from the tokenizer of RealRun. BERT adds
  // [CLS] and [SEP].
  static std::string id_lines(const std::string& model) {
    const std::string begin = model == "bert" ? "[2," : "[";
    const std::string end = model == "bert" ? ",3]" : "]";
    return fmt::format("{{\"t\":{0}4,7,9{1}}}\n{{\"t\":{0}10,13{1}}}\n", begin, end);
  }
};

TEST_P(Rows, TokenIdsGiveTheVectorOfTheirText) {
  const RealRun runs(GetParam(), 0);
  runs.dir().write("texts.txt", "abc\nde\n");
  const std::string ids = runs.dir().write("ids.jsonl", id_lines(GetParam()));
  ASSERT_EQ(runs.run("text", {}).exit_code, 0);
  // Rows of token ids need no tokenizer.
  std::filesystem::remove(runs.dir().file("model/tokenizer.json"));
  const ProgramEnd end = runs.run("ids", {"--input", ids, "--field", "t"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_TRUE(read_bytes(runs.matrix("ids")) == read_bytes(runs.matrix("text")));
}

TEST_P(Rows, TokenIdsAreCutAtMaxLengthAndCounted) {
  const RealRun runs(GetParam(), 0);
  const std::string ids = runs.dir().write("ids.jsonl", "{\"t\":[4,7,9,10,13]}\n{\"t\":[4,7,9]}\n");
  const ProgramEnd end = runs.run("cut", {"--input", ids, "--field", "t", "--max-length", "3"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string bytes = read_bytes(runs.matrix("cut"));
  const auto row_bytes = static_cast<size_t>(read_npy_header(runs.matrix("cut")).cols) * 4;
  const auto data = static_cast<size_t>(kNpyHeaderBytes);
  EXPECT_EQ(bytes.substr(data, row_bytes), bytes.substr(data + row_bytes, row_bytes));
  EXPECT_THAT(read_bytes(runs.matrix("cut") + ".manifest.json"),
              AllOf(HasSubstr("\"truncated_rows\": 1"), HasSubstr("\"lost_tokens\": 2")));
}

// "t5" is included because its directory has no maximum length.
INSTANTIATE_TEST_SUITE_P(Models, Rows, ::testing::Values("bert", "qwen2", "t5"));

TEST_P(Rows, WithoutPoolingEveryTokenHasItsVector) {
  const RealRun runs(GetParam(), 40);
  const std::vector<std::string> none = {"--pooling", "none"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), none.begin(), none.end());
    return more;
  };
  ASSERT_EQ(runs.run("whole", with({"--standard"})).exit_code, 0);
  const ProgramEnd end = runs.run("cut", with({"--chunk-size", "7"}));
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const auto offsets = [&](const std::string& name) {
    const std::string path = runs.matrix(name);
    return read_bytes(path.substr(0, path.size() - 4) + ".offsets.npy");
  };
  EXPECT_TRUE(read_bytes(runs.matrix("cut")) == read_bytes(runs.matrix("whole")));
  EXPECT_TRUE(offsets("cut") == offsets("whole"));
  EXPECT_EQ(offsets("cut").size(), static_cast<size_t>(kNpyHeaderBytes) + 41 * 8);
  int64_t last = 0;
  std::memcpy(&last, offsets("cut").data() + offsets("cut").size() - 8, 8);
  EXPECT_EQ(read_npy_header(runs.matrix("cut")).rows, last);
  EXPECT_EQ(runs.verify("cut").exit_code, 0);
  const std::string path = runs.matrix("cut");
  std::filesystem::resize_file(path.substr(0, path.size() - 4) + ".offsets.npy", 200);
  EXPECT_EQ(runs.verify("cut").exit_code, 65);
}

TEST(TokenIds, OutsideTheVocabularyOrBehindAPromptAreRefused) {
  const RealRun runs("bert", 0);
  const std::string ids = runs.dir().write("ids.jsonl", "{\"t\":[4]}\n{\"t\":[128]}\n");
  const std::vector<std::string> input = {"--input", ids, "--field", "t"};
  const ProgramEnd outside = runs.run("outside", input);
  EXPECT_EQ(outside.exit_code, 65);
  EXPECT_THAT(outside.err, AllOf(HasSubstr("batch.token_id"), HasSubstr("128")));
  const ProgramEnd prompt =
      runs.run("prompt", {"--input", ids, "--field", "t", "--prompt", "query: "});
  EXPECT_EQ(prompt.exit_code, 78);
  EXPECT_THAT(prompt.err, HasSubstr("text.prompt_and_ids"));
}

TEST(TokenIds, AModelWithoutALongestTextSaysWhereItCuts) {
  const RealRun runs("t5", 0);
  const std::string ids = runs.dir().write("ids.jsonl", "{\"t\":[4,7,9]}\n");
  const ProgramEnd end = runs.run("x", {"--input", ids, "--field", "t"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("32,768 tokens"), HasSubstr("--max-length N")));
}

TEST(TokenIds, TextsStillNeedATokenizer) {
  const RealRun runs("bert", 3);
  std::filesystem::remove(runs.dir().file("model/tokenizer.json"));
  const ProgramEnd end = runs.run("x", {});
  EXPECT_EQ(end.exit_code, 66);
  EXPECT_THAT(end.err, HasSubstr("tokenizer"));
}

// Sets the embedding of one token in a float32 checkpoint to values that float16 cannot hold.
void enlarge_embedding(const std::string& weights, const std::string& tensor, int64_t token) {
  std::string bytes = read_bytes(weights);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const Json info = Json::parse(bytes.substr(8, header_bytes))[tensor];
  ASSERT_EQ(info["dtype"], "F32");
  const int64_t width = info["shape"][1];
  const auto begin =
      static_cast<size_t>(8 + static_cast<int64_t>(header_bytes) +
                          info["data_offsets"][0].get<int64_t>() + token * width * 4);
  for (int64_t i = 0; i < width; ++i) {
    const float value = i % 2 == 0 ? 1e5F : -2e5F;
    std::memcpy(bytes.data() + begin + static_cast<size_t>(i) * 4, &value, sizeof value);
  }
  write_file_durably(weights, bytes);
}

TEST(NotFinite, ATokenThatFloat16CannotHoldIsComputedInFloat32Too) {
  const RealRun runs("qwen2", 0);
  runs.dir().write("texts.txt", "abc\nxyz\nade\n");
  enlarge_embedding(runs.dir().file("model/model.safetensors"), "embed_tokens.weight", 4);
  ASSERT_EQ(runs.run("float32", {"--pooling", "none"}).exit_code, 0);
  const ProgramEnd end = runs.run("float16", {"--dtype", "float16", "--pooling", "none"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(read_bytes(runs.matrix("float16") + ".manifest.json"),
              HasSubstr("\"redone_rows\": 2"));
  const std::string narrow = read_bytes(runs.matrix("float16"));
  const std::string wide = read_bytes(runs.matrix("float32"));
  ASSERT_EQ(narrow.size(), wide.size());
  const auto row_bytes = static_cast<size_t>(read_npy_header(runs.matrix("float32")).cols) * 4;
  EXPECT_EQ(narrow.substr(0, kNpyHeaderBytes + 3 * row_bytes),
            wide.substr(0, kNpyHeaderBytes + 3 * row_bytes));
  EXPECT_NE(narrow, wide);
}

TEST(NotFinite, ARowThatFloat16CannotHoldIsComputedInFloat32AndCounted) {
  const RealRun runs("qwen2", 0);
  runs.dir().write("texts.txt", "abc\nxyz\nade\n");  // "a" is token 4, which is in two rows
  enlarge_embedding(runs.dir().file("model/model.safetensors"), "embed_tokens.weight", 4);
  ASSERT_EQ(runs.run("float32", {}).exit_code, 0);
  const ProgramEnd end = runs.run("float16", {"--dtype", "float16", "--chunk-size", "2"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(read_bytes(runs.matrix("float16") + ".manifest.json"),
              HasSubstr("\"redone_rows\": 2"));
  EXPECT_THAT(read_bytes(runs.matrix("float32") + ".manifest.json"),
              HasSubstr("\"redone_rows\": 0"));
  const auto row_bytes = static_cast<size_t>(read_npy_header(runs.matrix("float16")).cols) * 4;
  const auto row = [&](const std::string& name, size_t i) {
    return read_bytes(runs.matrix(name)).substr(kNpyHeaderBytes + i * row_bytes, row_bytes);
  };
  EXPECT_TRUE(row("float16", 0) == row("float32", 0));
  EXPECT_FALSE(row("float16", 1) == row("float32", 1));
  EXPECT_TRUE(row("float16", 2) == row("float32", 2));
}

TEST(NotFinite, WhatFloat32CannotHoldIsSetAsideByName) {
  const RealRun runs("qwen2", 0);
  runs.dir().write("texts.txt", "xyz\nabc\n");
  const std::string weights = runs.dir().file("model/model.safetensors");
  enlarge_embedding(weights, "embed_tokens.weight", 4);
  enlarge_embedding(weights, "embed_tokens.weight", 7);
  std::string bytes = read_bytes(weights);
  const float huge = 1e5F;
  const float infinite = HUGE_VALF;
  std::string from(reinterpret_cast<const char*>(&huge), 4);
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 4))
    std::memcpy(bytes.data() + at, &infinite, 4);
  write_file_durably(weights, bytes);
  const ProgramEnd end = runs.run("infinite", {"--dtype", "bfloat16"});
  EXPECT_EQ(end.exit_code, 65);
  EXPECT_THAT(end.err, AllOf(HasSubstr("run.rows_set_aside"), HasSubstr("row 1"),
                             HasSubstr("vector.not_finite")));
}

class SelfTests : public ::testing::Test {
 protected:
  SelfTests() : runs_("bert", 20) {}
  // Runs again with the same cache, after the matrix was deleted.
  ProgramEnd again() {
    std::filesystem::remove(runs_.matrix("m"));
    std::filesystem::remove(runs_.matrix("m") + ".manifest.json");
    return runs_.run("m", {"--cache-dir", cache_});
  }
  // Multiplies the first value in the self-test file by a factor.
  void scale_first_value(float factor) {
    Json entries = Json::parse(read_bytes(file_));
    entries.erase("checksum");
    for (auto& [key, entry] : entries.items()) {
      std::string hex = entry["vectors"];
      float value = 0;
      std::string bytes;
      for (size_t i = 0; i < 4; ++i)
        bytes += static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
      std::memcpy(&value, bytes.data(), 4);
      value *= factor;
      uint32_t bits = 0;
      std::memcpy(&bits, &value, 4);
      entry["vectors"] = fmt::format("{:02x}{:02x}{:02x}{:02x}{}", bits & 255U, bits >> 8U & 255U,
                                     bits >> 16U & 255U, bits >> 24U, hex.substr(8));
    }
    write_file_durably(file_, seal(entries));
  }

  RealRun runs_;
  std::string cache_ = runs_.dir().file("cache");
  std::string file_ = cache_ + "/self_test.json";
};

TEST_F(SelfTests, TheSameBitsPassWithoutAWord) {
  ASSERT_EQ(again().exit_code, 0);
  const std::string first = read_bytes(file_);
  const ProgramEnd end = again();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out + end.err, Not(HasSubstr("self-test")));
  EXPECT_EQ(read_bytes(file_), first);
}

TEST_F(SelfTests, OtherBitsWarnAndOtherVectorsEndTheRun) {
  ASSERT_EQ(again().exit_code, 0);
  scale_first_value(1.00001F);
  const ProgramEnd rounded = again();
  EXPECT_EQ(rounded.exit_code, 0) << rounded.err;
  EXPECT_THAT(rounded.out + rounded.err, HasSubstr("self-test: vectors of fixed texts differ"));
  scale_first_value(-1000.0F);
  const ProgramEnd changed = again();
  EXPECT_EQ(changed.exit_code, 65);
  EXPECT_THAT(changed.err, HasSubstr("self_test.changed"));
}

TEST_F(SelfTests, AValueThatIsNotFiniteIsAnotherVector) {
  ASSERT_EQ(again().exit_code, 0);
  scale_first_value(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(again().err, HasSubstr("self_test.changed"));
}

TEST_F(SelfTests, ADamagedFileCountsAsAbsent) {
  ASSERT_EQ(again().exit_code, 0);
  const std::string good = read_bytes(file_);
  runs_.dir().write("cache/self_test.json", good.substr(0, good.size() / 2));
  EXPECT_EQ(again().exit_code, 0);
  EXPECT_EQ(read_bytes(file_), good);
}

TEST_F(SelfTests, VectorsThatAreNoDigitsCountAsAbsent) {
  ASSERT_EQ(again().exit_code, 0);
  const std::string good = read_bytes(file_);
  Json entries = Json::parse(good);
  entries.erase("checksum");
  for (auto& [key, entry] : entries.items())
    entry["vectors"] = "g" + entry["vectors"].get<std::string>().substr(1);
  write_file_durably(file_, seal(entries));
  EXPECT_EQ(again().exit_code, 0);
  EXPECT_EQ(read_bytes(file_), good);
}

}  // namespace
}  // namespace encode::testing
