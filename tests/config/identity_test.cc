// The fingerprint's share of the config: it changes with every field that can change the rows or
// the numbers, and with nothing else.
#include "config/identity.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace encode {
namespace {

TEST(InputIdentity, ChangesWithEveryReaderOption) {
  InputOptions base;
  base.path = "texts.txt";
  // One case a field; the binding stops compiling when a field is added.
  const auto& [path, field, format, bad_row, empty_row, utf8, max_row_bytes, limit_rows] = base;
  static_cast<void>(path);
  const InputScan scan;
  const std::string identity = input_identity(base, scan).dump();
  const std::vector<std::function<void(InputOptions&)>> changes = {
      [&](InputOptions& o) { o.field = field + "x"; },
      [&](InputOptions& o) {
        o.format = format == TextFormat::kCsv ? TextFormat::kTsv : TextFormat::kCsv;
      },
      [&](InputOptions& o) {
        o.bad_row = bad_row == BadRowPolicy::kError ? BadRowPolicy::kReject : bad_row;
      },
      [&](InputOptions& o) {
        o.empty_row = empty_row == EmptyRowPolicy::kKeep ? EmptyRowPolicy::kReject : empty_row;
      },
      [&](InputOptions& o) { o.utf8 = utf8 == Utf8Policy::kReplace ? Utf8Policy::kError : utf8; },
      [&](InputOptions& o) { o.max_row_bytes = max_row_bytes + 1; },
      [&](InputOptions& o) { o.limit_rows = limit_rows + 1; },
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
  const auto& [model, revision, pooling, normalize, max_length, prompt, prompt_name, causal,
               dtype] = base;
  static_cast<void>(dtype);
  ASSERT_FALSE(pooling || normalize || max_length || prompt || prompt_name || causal);
  const std::string identity = result_identity(base).dump();
  const std::vector<std::function<void(ResultOptions&)>> changes = {
      [](ResultOptions& o) { o.pooling = PoolingMode::kCls; },
      [](ResultOptions& o) { o.normalize = false; },
      [](ResultOptions& o) { o.max_length = 128; },
      [](ResultOptions& o) { o.prompt = ""; },
      [](ResultOptions& o) { o.prompt_name = "query"; },
      [](ResultOptions& o) { o.causal = false; },
      [](ResultOptions& o) { o.dtype = ComputeType::kBFloat16; },
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

TEST(ResultIdentity, IsCanonical) {
  EXPECT_EQ(result_identity({}).dump(),
            R"({"causal":null,"dtype":"float32","max_length":null,"normalize":null,"pooling":null,)"
            R"("prompt":null,"prompt_name":null})");
}

}  // namespace
}  // namespace encode
