// The fingerprint's share of the config: it changes with every field that can change the rows or
// the numbers, and with nothing else.
#include "config/identity.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace encode {
namespace {

TEST(InputIdentity, ChangesWithEveryReaderOption) {
  InputOptions base;
  base.path = "texts.txt";
  const auto& [path, field, format, bad_row, empty_row, utf8, max_row_bytes, limit_rows] = base;
  static_cast<void>(path);  // not part of it: see MovedFileKeepsIt
  ASSERT_TRUE(field.empty() && format == TextFormat::kAuto && bad_row == BadRowPolicy::kError);
  ASSERT_TRUE(empty_row == EmptyRowPolicy::kKeep && utf8 == Utf8Policy::kReplace);
  ASSERT_TRUE(max_row_bytes != 1 && limit_rows != 1);
  const InputScan scan;
  const std::string identity = input_identity(base, scan).dump();
  // One case a field; the binding above stops compiling when a field is added.
  const std::vector<std::function<void(InputOptions&)>> changes = {
      [](InputOptions& o) { o.field = "text"; },
      [](InputOptions& o) { o.format = TextFormat::kCsv; },
      [](InputOptions& o) { o.bad_row = BadRowPolicy::kReject; },
      [](InputOptions& o) { o.empty_row = EmptyRowPolicy::kReject; },
      [](InputOptions& o) { o.utf8 = Utf8Policy::kError; },
      [](InputOptions& o) { o.max_row_bytes = 1; },
      [](InputOptions& o) { o.limit_rows = 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    InputOptions changed = base;
    changes[i](changed);
    EXPECT_NE(input_identity(changed, scan).dump(), identity) << "change " << i;
  }
}

TEST(InputIdentity, ChangesWithTheBytesButNotWithTheScansStatistics) {
  const InputOptions options;
  InputScan scan;
  const std::string identity = input_identity(options, scan).dump();
  scan.rows = 7;
  EXPECT_EQ(input_identity(options, scan).dump(), identity);
  scan.file_bytes = 7;
  const std::string longer = input_identity(options, scan).dump();
  EXPECT_NE(longer, identity);
  scan.sha256 = "ab";
  EXPECT_NE(input_identity(options, scan).dump(), longer);
}

TEST(InputIdentity, MovedFileKeepsItUnlessItsNameChangesHowItIsRead) {
  const auto identity = [](const std::string& path, TextFormat format) {
    InputOptions options;
    options.path = path;
    options.format = format;
    return input_identity(options, {}).dump();
  };
  EXPECT_EQ(identity("a/texts.jsonl", TextFormat::kAuto),
            identity("b/other.JSONL", TextFormat::kAuto));
  EXPECT_EQ(identity("texts.jsonl", TextFormat::kAuto), identity("texts.data", TextFormat::kJsonl));
  EXPECT_NE(identity("texts.jsonl", TextFormat::kAuto), identity("texts.csv", TextFormat::kAuto));
  EXPECT_NE(identity("texts.jsonl", TextFormat::kAuto),
            identity("texts.jsonl.gz", TextFormat::kAuto));
  EXPECT_EQ(identity("texts.csv.zst", TextFormat::kAuto), identity("t.zst", TextFormat::kCsv));
}

TEST(ResultIdentity, ChangesWithEveryFieldButTheModelsName) {
  const ResultOptions base;
  const auto& [model, revision, pooling, normalize, truncate_dim, max_length, prompt, prompt_name,
               causal, dtype, float32_matmul_precision] = base;
  static_cast<void>(dtype);
  static_cast<void>(float32_matmul_precision);
  ASSERT_FALSE(pooling || normalize || truncate_dim || max_length || prompt || prompt_name ||
               causal);
  const std::string identity = result_identity(base).dump();
  const std::vector<std::function<void(ResultOptions&)>> changes = {
      [](ResultOptions& o) { o.pooling = PoolingMode::kCls; },
      [](ResultOptions& o) { o.normalize = false; },
      [](ResultOptions& o) { o.truncate_dim = 64; },
      [](ResultOptions& o) { o.max_length = 128; },
      [](ResultOptions& o) { o.prompt = ""; },
      [](ResultOptions& o) { o.prompt_name = "query"; },
      [](ResultOptions& o) { o.causal = false; },
      [](ResultOptions& o) { o.dtype = ComputeType::kBFloat16; },
      [](ResultOptions& o) { o.float32_matmul_precision = MatmulPrecision::kHigh; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    ResultOptions changed = base;
    changes[i](changed);
    EXPECT_NE(result_identity(changed).dump(), identity) << "change " << i;
  }
  ResultOptions renamed = base;
  renamed.model = model + "other";
  renamed.revision = revision.value_or("other");
  EXPECT_EQ(result_identity(renamed).dump(), identity);
}

TEST(ResultIdentity, EveryComputeTypeHasItsOwn) {
  std::set<std::string> identities;
  for (const auto type : {ComputeType::kFloat32, ComputeType::kBFloat16, ComputeType::kFloat16,
                          ComputeType::kInt8, ComputeType::kFp8}) {
    ResultOptions options;
    options.dtype = type;
    identities.insert(result_identity(options).dump());
  }
  EXPECT_EQ(identities.size(), 5U);
}

TEST(ResultIdentity, IsCanonical) {
  EXPECT_EQ(
      result_identity({}).dump(),
      R"({"causal":null,"dtype":"float32","float32_matmul_precision":"highest","max_length":null,"normalize":null,"pooling":null,)"
      R"("prompt":null,"prompt_name":null,"truncate_dim":null})");
}

}  // namespace
}  // namespace encode
