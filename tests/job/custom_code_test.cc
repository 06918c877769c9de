// Runs a model in the layout of Qodo-Embed-1 and gte-Qwen2, and compares the vectors with those of
// the Python code that the layout names. tests/data/README.md says how they were made.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "supervisor/program.h"
#include "support/npy_values.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string layout = test_data("models/gte_qwen2");

class GteQwen2 : public ::testing::Test {
 protected:
  ProgramEnd run(std::vector<std::string> more = {}, const std::string& model = layout) const {
    std::vector<std::string> words = {"run",
                                      "--model",
                                      model,
                                      "--input",
                                      layout + "/texts.txt",
                                      "--output",
                                      dir_.file("out.npy"),
                                      "--device",
                                      "cpu",
                                      "--no-progress"};
    words.insert(words.end(), more.begin(), more.end());
    return Program(dir_.path(), words).wait();
  }
  double largest_difference(const std::string& reference) const {
    const std::vector<float> ours = npy_values<float>(dir_.file("out.npy"));
    const std::vector<float> theirs = npy_values<float>(layout + "/" + reference);
    EXPECT_EQ(ours.size(), theirs.size());
    double largest = 0;
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
      largest = std::max(largest, std::abs(static_cast<double>(ours[i]) - theirs[i]));
    return largest;
  }

  TempDir dir_;
};

TEST_F(GteQwen2, GivesTheVectorsOfItsCode) {
  const ProgramEnd end = run();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_LE(largest_difference("embeddings.npy"), 1e-5);
  EXPECT_THAT(end.err, HasSubstr("recipe qwen2_bidirectional"));
  EXPECT_THAT(end.err, HasSubstr("recipe qwen2_eos"));
  const std::string manifest = read_bytes(manifest_path(dir_.file("out.npy")));
  EXPECT_THAT(manifest, HasSubstr("qwen2_eos"));
}

// stella-1.5B has the same code and another pooling.
TEST_F(GteQwen2, ThePoolingComesFromTheDirectory) {
  const TempDir copy;
  std::filesystem::copy(layout, copy.file("m"), std::filesystem::copy_options::recursive);
  copy.write("m/1_Pooling/config.json",
             R"({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true})");
  const ProgramEnd end = run({}, copy.file("m"));
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_LE(largest_difference("embeddings_mean.npy"), 1e-5);
}

// The control of the tests above: without one of the recipes, the vectors are others.
TEST_F(GteQwen2, EachRecipeTells) {
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"--ignore-custom-code"},
        {"--special-tokens", "as_in_tokenizer_json"},
        {"--ignore-custom-code", "--special-tokens", "as_in_tokenizer_json"}}) {
    std::vector<std::string> words = change;
    words.emplace_back("--fresh");
    const ProgramEnd end = run(words);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_GT(largest_difference("embeddings.npy"), 0.1) << change[0];
    if (change[0] == "--ignore-custom-code") {
      EXPECT_THAT(end.err, HasSubstr("tokenization_qwen.Qwen2TokenizerFast' is ignored"));
      EXPECT_THAT(end.err, Not(HasSubstr("recipe qwen2")));
    }
  }
}

TEST_F(GteQwen2, IgnoringItsCodeIsAnotherResult) {
  ASSERT_EQ(run({"--keep-chunks"}).exit_code, 0);
  const ProgramEnd end = run({"--keep-chunks", "--ignore-custom-code"});
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("ignore_custom_code"));
}

TEST_F(GteQwen2, ASearchEncodesItsQueriesInTheSameWay) {
  ASSERT_EQ(run().exit_code, 0);
  const ProgramEnd end =
      Program(dir_.path(), {"search", "--matrix", dir_.file("out.npy"), "--model", layout,
                            "--device", "cpu", "--json", "return"})
          .wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr(R"({"hits":[{"input_row":3,)"))
      << "the text itself is the nearest";
}

TEST_F(GteQwen2, PreflightNamesTheRecipes) {
  const ProgramEnd end = Program(dir_.path(), {"preflight", "--verbose", "--model", layout,
                                               "--input", layout + "/texts.txt", "--output",
                                               dir_.file("out.npy"), "--device", "cpu"})
                             .wait();
  EXPECT_THAT(end.out + end.err, HasSubstr("recipe qwen2_bidirectional"));
  EXPECT_THAT(end.out + end.err, HasSubstr("recipe qwen2_eos"));
}

}  // namespace
}  // namespace encode::testing
