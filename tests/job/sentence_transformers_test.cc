// Compares runs on whole sentence-transformers directories with encode() of sentence-transformers.
// tests/data/README.md says which script made the expected vectors.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "supervisor/program.h"
#include "support/npy_values.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

std::string directory(const std::string& name) {
  return test_data("sentence_transformers/" + name);
}

std::string values_of(const std::string& path) {
  return read_bytes(path).substr(static_cast<size_t>(read_npy_header(path).data_offset));
}

ProgramEnd encode_texts(const std::string& name, const TempDir& dir,
                        std::vector<std::string> extra = {}) {
  std::vector<std::string> words = {
      "run",      "--model",           directory(name), "--input", directory(name) + "/texts.txt",
      "--output", dir.file("out.npy"), "--device",      "cpu",     "--no-progress"};
  words.insert(words.end(), extra.begin(), extra.end());
  return Program(dir.path(), words).wait();
}

class SentenceTransformers : public ::testing::TestWithParam<const char*> {};

TEST_P(SentenceTransformers, IsWithin1e5) {
  const TempDir dir;
  const ProgramEnd end = encode_texts(GetParam(), dir);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string theirs_path = directory(GetParam()) + "/embeddings.npy";
  EXPECT_EQ(read_npy_header(dir.file("out.npy")).cols, read_npy_header(theirs_path).cols);
  const std::vector<float> ours = npy_values<float>(dir.file("out.npy"));
  const std::vector<float> theirs = npy_values<float>(theirs_path);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 1e-5) << "value " << i;
}

// The directories test:
//   every_module, older_generation  the same weights, in the file formats of two generations
//   prompts                         a default prompt that the pooling leaves out, and truncation
//   static_embedding                a table of token vectors instead of a transformer
//   model2vec                       the same table as model2vec saves it, with truncation
INSTANTIATE_TEST_SUITE_P(Directories, SentenceTransformers,
                         ::testing::Values("every_module", "older_generation", "prompts",
                                           "static_embedding", "model2vec"),
                         [](const auto& param) { return std::string(param.param); });

// Checks that the comparison above notices another prompt and another pooling.
TEST(SentenceTransformersControl, WithoutItsPromptOrWithAnotherPoolingRowsDiffer) {
  const TempDir dir;
  const std::vector<float> theirs = npy_values<float>(directory("prompts") + "/embeddings.npy");
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"--prompt-name", "document"}, {"--pooling", "max"}}) {
    const TempDir other;
    const ProgramEnd end = encode_texts("prompts", other, change);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const std::vector<float> ours = npy_values<float>(other.file("out.npy"));
    ASSERT_EQ(ours.size(), theirs.size());
    double most = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      most = std::max(most, static_cast<double>(std::abs(ours[i] - theirs[i])));
    }
    EXPECT_GT(most, 1e-2) << change[0];
  }
}

double norm_of_first_row(const std::string& path) {
  const auto dim = static_cast<size_t>(read_npy_header(path).cols);
  const std::vector<float> values = npy_values<float>(path);
  double sum = 0;
  for (size_t i = 0; i < dim; ++i) sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

TEST(TruncateDim, IsNormalizedAgainOnlyWhereAskedFor) {
  const TempDir cut;
  ASSERT_EQ(encode_texts("every_module", cut, {"--truncate-dim", "5"}).exit_code, 0);
  EXPECT_EQ(read_npy_header(cut.file("out.npy")).cols, 5);
  EXPECT_LT(norm_of_first_row(cut.file("out.npy")), 0.9999);
  const TempDir again;
  ASSERT_EQ(encode_texts("every_module", again, {"--truncate-dim", "5", "--normalize"}).exit_code,
            0);
  EXPECT_NEAR(norm_of_first_row(again.file("out.npy")), 1, 1e-6);
  EXPECT_EQ(Program(again.path(), {"verify", again.file("out.npy")}).wait().exit_code, 0);
}

TEST(TruncateDim, WiderThanTheEmbeddingIsRefused) {
  const TempDir dir;
  const ProgramEnd end = encode_texts("every_module", dir, {"--truncate-dim", "8"});
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_THAT(end.err, HasSubstr("model.truncate_dim"));
  EXPECT_THAT(end.err, HasSubstr("1 to 7"));
}

TEST(OutputDtype, ChangedOnlyRebuildsTheFinal) {
  for (const std::vector<std::string>& mode :
       {std::vector<std::string>{"--keep-chunks"}, {"--standard"}}) {
    const TempDir dir;
    ASSERT_EQ(encode_texts("static_embedding", dir, mode).exit_code, 0);
    const std::string exact = values_of(dir.file("out.npy"));
    std::vector<std::string> words = mode;
    words.insert(words.end(), {"--output-dtype", "int8"});
    const ProgramEnd end = encode_texts("static_embedding", dir, words);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.err, HasSubstr("converted the float32 matrix"));
    EXPECT_THAT(end.err, ::testing::Not(HasSubstr("encode-worker"))) << "nothing was encoded";
    EXPECT_EQ(read_npy_header(dir.file("out.npy")).item, ItemType::kInt8);
    EXPECT_EQ(Program(dir.path(), {"verify", dir.file("out.npy")}).wait().exit_code, 0);
    // A float32 matrix has the same bits again. It is made from the chunks if they were kept, and
    // is encoded again if not.
    ASSERT_EQ(encode_texts("static_embedding", dir, mode).exit_code, 0);
    EXPECT_EQ(values_of(dir.file("out.npy")), exact);
  }
}

TEST(OutputDtype, ChunkedAndStandardGiveTheSameBytes) {
  const TempDir chunked;
  const TempDir standard;
  for (const char* type : {"uint8", "ubinary", "float16"}) {
    ASSERT_EQ(encode_texts("every_module", chunked,
                           {"--output-dtype", type, "--chunk-size", "3", "--fresh"})
                  .exit_code,
              0);
    ASSERT_EQ(
        encode_texts("every_module", standard, {"--output-dtype", type, "--standard", "--fresh"})
            .exit_code,
        0);
    EXPECT_EQ(values_of(chunked.file("out.npy")), values_of(standard.file("out.npy"))) << type;
    EXPECT_FALSE(std::filesystem::exists(standard.file("out.npy.float32.npy")));
  }
}

TEST(OutputDtype, Bfloat16IsRefusedByName) {
  const TempDir dir;
  const ProgramEnd end = encode_texts("static_embedding", dir, {"--output-dtype", "bfloat16"});
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_THAT(end.err, HasSubstr("NumPy has no such type"));
}

}  // namespace
}  // namespace encode::testing
