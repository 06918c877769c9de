#include "tiny_model.h"

#include <ctime>
#include <filesystem>
#include <fmt/ranges.h>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host.h"
#include "support/safetensors_writer.h"

namespace encode::testing {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr int64_t kSlowdown = 10;  // sanitizers are slow and keep freed memory
#else
constexpr int64_t kSlowdown = 1;
#endif

// Returns the CPU time of the process. The limit is in CPU time, because it must hold on a busy
// machine too. The timeout of CTest catches code that waits forever.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TinyModel::TinyModel() {
  write("config.json", kTinyConfig);
  write("model.safetensors", safetensors_bytes({zeros_tensor("embeddings.weight", {10, 4}),
                                                zeros_tensor("norm.bias", {4})}));
  write("modules.json", R"([
      {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 4, "pooling_mode_cls_token": false,
      "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})");
  write("sentence_bert_config.json", R"({"max_seq_length": 16, "do_lower_case": false})");
  write("tokenizer_config.json", R"({"model_max_length": 24})");
  write("tokenizer.json", "{}");
  write("config_sentence_transformers.json",
        R"({"prompts": {"query": "query: ", "passage": "passage: "}})");
  write("README.md", "a model");
}

void TinyModel::write_modules(const std::vector<std::string>& entries) const {
  write("modules.json", fmt::format("[{}]", fmt::join(entries, ",")));
}

void TinyModel::remove(std::string_view name) const { std::filesystem::remove_all(file(name)); }

void expect_refused(const std::function<void()>& action, const Expected& expected) {
  const int64_t memory_before = peak_resident_bytes();
  const double start = cpu_seconds();
  std::optional<ErrorDetail> detail;
  try {
    action();
  } catch (const Error& error) {
    detail = error.detail();
  }
  const double seconds = cpu_seconds() - start;
  const int64_t memory = peak_resident_bytes() - memory_before;

  ASSERT_TRUE(detail) << "accepted";
  SCOPED_TRACE(render(*detail));
  EXPECT_EQ(detail->code.name(), expected.code);
  EXPECT_EQ(detail->exit_code, expected.exit_code);
  EXPECT_THAT(detail->what, ::testing::HasSubstr(expected.what));
  EXPECT_THAT(detail->expected, ::testing::HasSubstr(expected.expected));
  EXPECT_THAT(detail->found, ::testing::HasSubstr(expected.found));
  for (const std::string& field :
       {detail->what, detail->where, detail->expected, detail->found, detail->hint}) {
    EXPECT_FALSE(field.empty());
  }
  EXPECT_LT(seconds, 1.0 * kSlowdown);
  EXPECT_LT(memory, kSlowdown * (64 << 20));
}

void expect_open_refused(const TinyModel& model, const Expected& expected) {
  expect_refused([&model] { model.open(); }, expected);
}

}  // namespace encode::testing
