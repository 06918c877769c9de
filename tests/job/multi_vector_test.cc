// Encodes the documents of a MultiVectorEncoder with encode and encode-worker, and compares their
// vectors with those of sentence-transformers 6. tests/data/README.md says which script made them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "real_run.h"
#include "support/npy_values.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class MultiVector : public ::testing::Test {
 protected:
  MultiVector() {
    fs::remove_all(file("model"));
    fs::copy(golden(""), file("model"), fs::copy_options::recursive);
    fs::copy(golden("texts.txt"), file("texts.txt"), fs::copy_options::overwrite_existing);
  }

  static std::string golden(const std::string& name) { return test_data("multi_vector/" + name); }
  std::string file(const std::string& name) const { return runs_.dir().file(name); }

  // Encodes the texts. Returns the largest difference from the vectors of sentence-transformers, or
  // infinity if a row has another number of vectors.
  double difference(const std::string& suffix, const std::vector<std::string>& extra = {}) const {
    const ProgramEnd end = runs_.run("out" + suffix, extra);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    const auto ours = npy_values<float>(runs_.matrix("out" + suffix));
    const auto theirs = npy_values<float>(golden("embeddings" + suffix + ".npy"));
    std::vector<int64_t> offsets = {0};
    for (const int64_t length : npy_values<int64_t>(golden("lengths" + suffix + ".npy")))
      offsets.push_back(offsets.back() + length);
    if (npy_values<int64_t>(file("out" + suffix + ".offsets.npy")) != offsets ||
        ours.size() != theirs.size())
      return std::numeric_limits<double>::infinity();
    double most = 0;
    for (size_t i = 0; i < ours.size(); ++i)
      most = std::max(most, static_cast<double>(std::abs(ours[i] - theirs[i])));
    return most;
  }

  RealRun runs_{"bert", 0};
};

TEST_F(MultiVector, DocumentsAreThoseOfSentenceTransformersWithin1e5) {
  EXPECT_LT(difference(""), 1e-5);
  EXPECT_EQ(runs_.verify("out").exit_code, 0);
}

// The module list of this directory has no Normalize, its skip list is for queries, and it has no
// prompts.
TEST_F(MultiVector, TheModulesOfTheDirectoryDecide) {
  fs::remove(file("model/modules.json"));
  fs::copy(golden("bare"), file("model"),
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  EXPECT_LT(difference("_bare"), 1e-5);
}

TEST_F(MultiVector, TheDocumentPromptCanBeReplaced) {
  EXPECT_GT(difference("", {"--prompt", ""}), 1e-2);
  const ProgramEnd end = runs_.run("query", {"--prompt-name", "query"});
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_THAT(end.err, HasSubstr("model.unsupported"));
}

}  // namespace
}  // namespace encode::testing
