// Compares all-MiniLM-L6-v2 with sentence-transformers on 100 real texts. tests/data/README.md says
// which script made the expected vectors.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/npy_values.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

class MiniLm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kModel)) GTEST_SKIP() << "no demo model: run scripts/models.sh";
  }

  ProgramEnd encode(const std::string& dtype, const Program::Environment& environment = {}) {
    return Program(dir_.path(),
                   {"run", "--model", kModel, "--input", test_data("minilm/texts.jsonl"), "--field",
                    "text", "--output", dir_.file("out.npy"), "--device", "cpu", "--dtype", dtype},
                   environment)
        .wait();
  }
  std::vector<float> ours() const { return npy_values<float>(dir_.file("out.npy")); }
  static std::vector<float> theirs() {
    return npy_values<float>(test_data("minilm/embeddings.npy"));
  }

 private:
  const std::string kModel = source_file(".deps/models/all-MiniLM-L6-v2");
  TempDir dir_;
};

TEST_F(MiniLm, IsWithin1e5OfSentenceTransformers) {
  const ProgramEnd end = encode("float32");
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::vector<float> expected = theirs();
  const std::vector<float> found = ours();
  ASSERT_EQ(found.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i]));
  EXPECT_LE(worst, 1e-5);
}

// Returns the mean cosine of the rows. All rows must have length 1.
double mean_cosine(const std::vector<float>& a, const std::vector<float>& b, size_t rows) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum / static_cast<double>(rows);
}

TEST_F(MiniLm, Int8IsCloseAndSaysWhatItIs) {
  const ProgramEnd end = encode("int8");
  if (end.exit_code == 69) GTEST_SKIP() << "this processor has no AVX2: " << end.err;
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_NE(end.err.find("dtype int8 is an approximation"), std::string::npos) << end.err;
  const double cosine = mean_cosine(ours(), theirs(), 100);
  EXPECT_GE(cosine, 0.99);
  EXPECT_LE(cosine, 0.99999) << "the products were not int8";
}

TEST_F(MiniLm, Int8WithoutItsInstructionsIsRefused) {
  const ProgramEnd end = encode("int8", {{"ENCODE_CPU_CAPABILITY", "baseline"}});
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_NE(end.err.find("device.int8"), std::string::npos) << end.err;
}

TEST_F(MiniLm, Fp8OnACpuIsRefused) {
  const ProgramEnd end = encode("fp8");
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_NE(end.err.find("device.fp8"), std::string::npos) << end.err;
}

}  // namespace
}  // namespace encode::testing
