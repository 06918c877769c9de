// Encodes a late-interaction directory with encode and encode-worker, and compares the vectors of
// its documents with those of PyLate. tests/data/README.md says which script made them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "real_run.h"
#include "support/npy_values.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 6;
constexpr const char* kSettings = "model/config_sentence_transformers.json";

double largest_difference(const std::vector<float>& ours, const std::vector<float>& theirs) {
  if (ours.size() != theirs.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (size_t i = 0; i < ours.size(); ++i)
    most = std::max(most, static_cast<double>(std::abs(ours[i] - theirs[i])));
  return most;
}

class LateInteraction : public ::testing::Test {
 protected:
  LateInteraction() {
    fs::remove_all(file("model"));
    fs::copy(golden(""), file("model"), fs::copy_options::recursive);
    fs::copy(golden("texts.txt"), file("texts.txt"), fs::copy_options::overwrite_existing);
  }

  static std::string golden(const std::string& name) {
    return test_data("late_interaction/" + name);
  }
  std::string file(const std::string& name) const { return runs_.dir().file(name); }
  std::vector<float> vectors(const std::string& name) const {
    return npy_values<float>(runs_.matrix(name));
  }
  std::vector<int64_t> offsets(const std::string& name) const {
    return npy_values<int64_t>(file(name + ".offsets.npy"));
  }
  Json manifest(const std::string& name) const {
    return Json::parse(read_bytes(runs_.matrix(name) + ".manifest.json"));
  }

  void run(const std::string& name, const std::vector<std::string>& extra = {}) const {
    const ProgramEnd end = runs_.run(name, extra);
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }
  ProgramEnd encode(const std::vector<std::string>& words) const {
    return Program(runs_.dir().path(), words).wait();
  }
  // Puts `to` in the place of `from` in a file.
  void change(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read_bytes(file(name));
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    runs_.dir().write(name, text.replace(at, from.size(), to));
  }
  // Writes c.yaml with one stream. `semantic` is another key of this section.
  void write_config(const std::string& semantic) const {
    runs_.dir().write(
        "c.yaml",
        fmt::format("semantic:\n  model: {}\n  cache_dir: {}\n  {}\n"
                    "hardware: {{device: cpu}}\n"
                    "data:\n  streams:\n    tc: {{}}\n  splits:\n    train:\n      tc: {}\n",
                    file("model"), file("cache"), semantic, file("texts.txt")));
  }
  // Writes so many texts that they take several windows. They have characters of the skip list.
  void write_many_texts() const {
    std::string lines;
    for (int row = 0; row < 600; ++row)
      lines +=
          fmt::format("row {}: {} (of, all)!\n", std::string(1, static_cast<char>('a' + row % 26)),
                      std::string(static_cast<size_t>(row % 5), static_cast<char>('a' + row / 80)));
    runs_.dir().write("texts.txt", lines);
  }

  RealRun runs_{"bert", 0};
};

TEST_F(LateInteraction, DocumentsAreThoseOfPyLateWithin1e5) {
  run("out");
  EXPECT_EQ(read_npy_header(runs_.matrix("out")).cols, kWidth);
  EXPECT_LT(largest_difference(vectors("out"), npy_values<float>(golden("embeddings.npy"))), 1e-5);
  const auto lengths = npy_values<int64_t>(golden("lengths.npy"));
  std::vector<int64_t> expected = {0};
  for (const int64_t length : lengths) expected.push_back(expected.back() + length);
  EXPECT_EQ(offsets("out"), expected);
  EXPECT_EQ(runs_.verify("out").exit_code, 0);
}

TEST_F(LateInteraction, ADenseWithBiasResidualAndActivationIsPyLatesToo) {
  fs::remove_all(file("model/1_Dense"));
  fs::rename(file("model/dense_tanh"), file("model/1_Dense"));
  run("out");
  EXPECT_LT(largest_difference(vectors("out"), npy_values<float>(golden("embeddings_tanh.npy"))),
            1e-5);
  EXPECT_GT(largest_difference(vectors("out"), npy_values<float>(golden("embeddings.npy"))), 1e-2);
}

TEST_F(LateInteraction, TheComparisonNoticesAMissingMarkerSkipListOrLength) {
  const auto expected = npy_values<float>(golden("embeddings.npy"));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("document_prefix": "[D] ")", R"("document_prefix": "")"},
           {R"("document_prefix": "[D] ")", R"("document_prefix": "[Q] ")"},
           {R"("skiplist_words": [)", R"("skiplist_words": [], "other": [)"},
           {R"("~")", R"("z")"},
           {R"("document_length": 14)", R"("document_length": 15)"}}) {
    change(kSettings, from, to);
    run("other", {"--fresh", "--overwrite"});
    EXPECT_GT(largest_difference(vectors("other"), expected), 1e-2) << to;
    change(kSettings, to, from);
  }
}

TEST_F(LateInteraction, EveryVectorHasLength1UnlessTheUserRefuses) {
  run("out");
  const auto values = vectors("out");
  for (size_t i = 0; i < values.size(); i += kWidth) {
    const auto* const vector = values.data() + i;
    EXPECT_NEAR(std::inner_product(vector, vector + kWidth, vector, 0.0), 1, 1e-5);
  }
  run("raw", {"--no-normalize"});
  EXPECT_GT(largest_difference(vectors("raw"), values), 1e-2);
}

// Row 4 has 41 tokens, row 3 has 25, and row 5 has 13, which are 14 with the marker.
TEST_F(LateInteraction, TruncationCountsTheMarker) {
  run("out");
  EXPECT_EQ(read_bytes(file("out.truncated.jsonl")),
            "{\"row\":3,\"tokens\":14,\"lost_tokens\":12}\n"
            "{\"row\":4,\"tokens\":14,\"lost_tokens\":28}\n");
  const Json stats = manifest("out")["stats"];
  EXPECT_EQ(stats["truncated_rows"], 2);
  EXPECT_EQ(stats["lost_tokens"], 40);
  EXPECT_EQ(stats["tokens"], 98) << "the number of vectors";
  EXPECT_EQ(stats["zero_token_rows"], 0) << "an empty text has its special tokens and the marker";
}

TEST_F(LateInteraction, CutUpOrKilledItGivesTheSameBytes) {
  write_many_texts();
  run("whole", {"--standard"});
  EXPECT_GE(runs_.kill_runs("cut", {"--chunk-size", "7"}, {.times = 6, .step_ms = 80}), 1);
  run("cut", {"--chunk-size", "7"});
  EXPECT_TRUE(read_bytes(runs_.matrix("cut")) == read_bytes(runs_.matrix("whole")));
  EXPECT_EQ(offsets("cut"), offsets("whole"));
  EXPECT_EQ(offsets("cut").back(), read_npy_header(runs_.matrix("cut")).rows);
  EXPECT_EQ(runs_.verify("cut").exit_code, 0);
}

TEST_F(LateInteraction, TheEmbeddingCacheGivesTheSameBytes) {
  const std::vector<std::string> cache = {"--embedding-cache", file("vectors")};
  run("without");
  run("cold", cache);
  run("warm", cache);
  for (const char* name : {"cold", "warm"}) {
    EXPECT_TRUE(read_bytes(runs_.matrix(name)) == read_bytes(runs_.matrix("without"))) << name;
    EXPECT_EQ(offsets(name), offsets("without")) << name;
  }
}

// Rows of token ids get no marker, but their tokens in the skip list are also left out.
TEST_F(LateInteraction, RowsOfTokenIdsGetNoMarker) {
  const ProgramEnd ids = encode({"tokenize", "--model", file("model"), "--input", file("texts.txt"),
                                 "--output", file("ids.jsonl")});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  run("ids", {"--input", file("ids.jsonl"), "--field", "input_ids"});
  run("texts");
  EXPECT_TRUE(read_bytes(runs_.matrix("ids")) == read_bytes(runs_.matrix("texts")));
}

// Makes the embedding of a token NaN, so that each row with this token is set aside.
void spoil_token(const std::string& weights, int64_t token) {
  std::string bytes = read_bytes(weights);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const Json info = Json::parse(bytes.substr(8, header_bytes))["embeddings.word_embeddings.weight"];
  const int64_t row_bytes = info["shape"][1].get<int64_t>() * 4;
  const auto begin = static_cast<int64_t>(8 + header_bytes) +
                     info["data_offsets"][0].get<int64_t>() + token * row_bytes;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t at = begin; at < begin + row_bytes; at += 4)
    std::memcpy(bytes.data() + at, &nan, sizeof nan);
  write_file_durably(weights, bytes);
}

TEST_F(LateInteraction, ARowThatIsSetAsideTakesOnlyItsOwnVectors) {
  constexpr int64_t kTokenX = 5 + 2 * ('x' - 'a');  // after the five special tokens
  spoil_token(file("model/model.safetensors"), kTokenX);
  runs_.dir().write("texts.txt", "a, b.\nx, y.\n(c) d!\nx, y.\ne; f\n");
  write_config("quarantine: zeros");
  const ProgramEnd end = encode({"run", "--config", file("c.yaml"), "--no-progress"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string bad = "cache/train_tc_embeddings";
  runs_.dir().write("texts.txt", "a, b.\n(c) d!\ne; f\n");
  run("good");
  EXPECT_TRUE(vectors(bad) == vectors("good"));
  EXPECT_THAT(offsets("good"), ElementsAre(0, 5, 10, 15));
  EXPECT_THAT(offsets(bad), ElementsAre(0, 5, 5, 10, 10, 15));
  EXPECT_EQ(manifest(bad)["stats"]["tokens"], 15);
  EXPECT_EQ(runs_.verify(bad).exit_code, 0);
}

TEST_F(LateInteraction, PlanPreflightAndTokenizeCountTheMarker) {
  write_config("");
  const ProgramEnd plan = encode({"plan", "--config", file("c.yaml"), "--json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const Json stream = Json::parse(plan.out)["devices"][0]["streams"][0];
  EXPECT_EQ(stream["tokens"], 110) << stream.dump();
  EXPECT_EQ(stream["longest_row_tokens"], 14);
  const ProgramEnd preflight = encode({"preflight", "--verbose", "--config", file("c.yaml")});
  EXPECT_THAT(preflight.out + preflight.err,
              AllOf(HasSubstr("marker '[D] '"), HasSubstr("2 of the first 11 rows of"),
                    HasSubstr("longer than 14")));
  const ProgramEnd tokens =
      encode({"tokenize", "--model", file("model"), "--input", file("texts.txt"), "--output",
              file("t.jsonl"), "--tokens", "--offsets"});
  ASSERT_EQ(tokens.exit_code, 0) << tokens.err;
  std::istringstream lines(read_bytes(file("t.jsonl")));
  std::string first;
  std::getline(lines, first);
  EXPECT_EQ(Json::parse(first)["tokens"], Json({"[CLS]", "[D] ", "a", "[SEP]"}));
  EXPECT_EQ(Json::parse(first)["offsets"], Json::parse("[[0,0],[0,0],[0,1],[0,0]]"));
}

// The worker notices that a token is missing, and the run shows the whole error.
TEST_F(LateInteraction, TokensThatTheModelDoesNotHaveAreRefused) {
  struct Case {
    std::string name, from, to, found;
  };
  for (const auto& [name, from, to, found] :
       std::vector<Case>{{kSettings, R"("document_prefix": "[D] ")",
                          R"("document_prefix": "[none]")", "'[none]'"},
                         {"model/config.json", R"("vocab_size": 90)", R"("vocab_size": 89)",
                          "id 89 for '[D] '"}}) {
    const std::string before = read_bytes(file(name));
    change(name, from, to);
    const ProgramEnd end = runs_.run("refused", {"--fresh"});
    EXPECT_EQ(end.exit_code, 78) << end.err;
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("error[tokenizer.late_interaction]"),
                      HasSubstr("\n  where     " + file("model")), HasSubstr("\n  expected  "),
                      HasSubstr("\n  found     " + found), HasSubstr("\n  hint      ")));
    EXPECT_FALSE(fs::exists(runs_.matrix("refused")));
    runs_.dir().write(name, before);
  }
}

TEST_F(LateInteraction, WhatIsNotSupportedIsRefused) {
  for (const auto& [words, code] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--prompt-name", "query"}, "model.unsupported"},
           {{"--pooling", "mean"}, "model.pooling"},
           {{"--max-length", "1"}, "model.max_length"}}) {
    const ProgramEnd end = runs_.run("refused", words);
    EXPECT_EQ(end.exit_code, 78) << end.err;
    EXPECT_THAT(end.err, HasSubstr("error[" + code + "]"));
  }
  run("out");
  const ProgramEnd search = encode({"search", "--matrix", runs_.matrix("out"), "--texts",
                                    file("texts.txt"), "--model", file("model"), "cat"});
  EXPECT_EQ(search.exit_code, 78);
  EXPECT_THAT(search.err, AllOf(HasSubstr("error[search.kind]"), HasSubstr("MaxSim")));
}

}  // namespace
}  // namespace encode::testing
