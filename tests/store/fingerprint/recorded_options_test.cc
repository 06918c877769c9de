// Tests that the options of a run can be read back from its fingerprint.

#include <functional>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Returns a fingerprint in which every value differs from the default.
Fingerprint unusual() {
  Fingerprint fingerprint;
  fingerprint.input.path = "texts.csv.gz";
  fingerprint.input.field = "text";
  fingerprint.input.text_template = "{a}";
  fingerprint.input.passage_field = "a";
  fingerprint.input.missing_field = MissingFieldPolicy::kEmpty;
  fingerprint.input.filter.where = "a == 1";
  fingerprint.input.format = TextFormat::kTsv;
  fingerprint.input.bad_row = BadRowPolicy::kReject;
  fingerprint.input.empty_row = EmptyRowPolicy::kError;
  fingerprint.input.utf8 = Utf8Policy::kError;
  fingerprint.input.max_row_bytes = 77;
  fingerprint.input.limit_rows = 5;
  fingerprint.input_files.push_back(
      {.path = "texts.csv.gz", .bytes = 10, .sha256 = std::string(64, 'a')});
  fingerprint.result.pooling = {PoolingMode::kLastToken};
  fingerprint.result.normalize = true;
  fingerprint.result.truncate_dim = 64;
  fingerprint.result.max_length = 99;
  fingerprint.result.prompt = "query: \"a\"";
  fingerprint.result.dtype = ComputeType::kFloat16;
  fingerprint.result.float32_matmul_precision = MatmulPrecision::kHigh;
  fingerprint.result.causal = false;
  fingerprint.result.vector_precision = VectorPrecision::kFloat16;
  fingerprint.result.tokenizer.special_tokens = SpecialTokensRule::kAsInTokenizerJson;
  fingerprint.result.ignore_custom_code = true;
  fingerprint.result.passages = PassageRule{
      .max_tokens = 9, .overlap = 2, .by = PassageUnit::kToken, .vectors = PassageVectors::kLate};
  fingerprint.result.row_vector = RowVector::kMean;
  return fingerprint;
}

TEST(RecordedOptions, AreThoseOfTheRun) {
  const Fingerprint run = unusual();
  const RecordedOptions recorded = recorded_options(to_text(run));
  InputOptions input = run.input;
  input.path = "";
  EXPECT_EQ(recorded.input, input);
  // Names every option, so that a new one does not compile until somebody has decided whether a
  // fingerprint records it.
  const auto& [model, revision, pooling, normalize, truncate_dim, max_length, prompt, prompt_name,
               causal, dtype, matmul_precision, vector_precision, special_tokens,
               ignore_custom_code, passages] = recorded.result;
  EXPECT_EQ(model, "") << "recorded by its hashes";
  EXPECT_EQ(revision, std::nullopt);
  EXPECT_EQ(pooling, PoolingMode::kLastToken);
  EXPECT_EQ(normalize, std::nullopt) << "recorded as a module";
  EXPECT_EQ(truncate_dim, 64);
  EXPECT_EQ(max_length, 99);
  EXPECT_EQ(prompt, run.result.prompt);
  EXPECT_EQ(prompt_name, std::nullopt) << "recorded as the prompt";
  EXPECT_EQ(causal, false);
  EXPECT_EQ(dtype, ComputeType::kFloat16);
  EXPECT_EQ(matmul_precision, MatmulPrecision::kHigh);
  EXPECT_EQ(vector_precision, VectorPrecision::kFloat16);
  EXPECT_EQ(special_tokens, SpecialTokensRule::kAsInTokenizerJson);
  EXPECT_TRUE(ignore_custom_code);
  EXPECT_EQ(passages, (PassageOptions{.max_tokens = 9,
                                      .overlap = 2,
                                      .by = PassageUnit::kToken,
                                      .vectors = PassageVectors::kLate,
                                      .row_vector = RowVector::kMean}));
}

TEST(RecordedOptions, WhatARunLeftOpenStaysOpen) {
  Fingerprint run = unusual();
  run.result.pooling = {PoolingMode::kCls, PoolingMode::kMax};
  run.result.truncate_dim.reset();
  run.result.causal.reset();
  run.result.vector_precision = VectorPrecision::kFloat32;
  run.result.tokenizer = {};
  run.result.ignore_custom_code = false;
  run.result.passages.reset();
  const ResultOptions result = recorded_options(to_text(run)).result;
  EXPECT_EQ(result.pooling, std::nullopt);
  EXPECT_EQ(result.truncate_dim, std::nullopt);
  EXPECT_EQ(result.causal, std::nullopt);
  EXPECT_EQ(result.vector_precision, VectorPrecision::kFloat32);
  EXPECT_EQ(result.special_tokens, SpecialTokensRule::kByClass);
  EXPECT_FALSE(result.ignore_custom_code);
  EXPECT_FALSE(result.passages.cuts());
}

TEST(RecordedOptions, AnotherTextIsRefused) {
  const Json good = Json::parse(to_text(unusual()));
  for (const std::function<void(Json&)>& change : std::vector<std::function<void(Json&)>>{
           [](Json& json) { json["format"] = Fingerprint::kVersion - 1; },
           [](Json& json) { json["result"].erase("dtype"); },
           [](Json& json) { json["result"]["dtype"] = "float12"; },
           [](Json& json) { json["input"]["bad_row"] = 3; },
           [](Json& json) { json["input"] = Json::array(); }, [](Json& json) { json = "text"; }}) {
    Json changed = good;
    change(changed);
    try {
      recorded_options(changed.dump());
      ADD_FAILURE() << changed.dump();
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "store.damaged");
      EXPECT_EQ(error.exit_code(), ExitCode::kData);
    }
  }
}

}  // namespace
}  // namespace encode
