// Tests a run in the cache directory of an earlier version of encode, which may have had other
// token ids for the same text. tests/data/README.md says how the directory was recorded.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OldRun : public ::testing::Test {
 protected:
  OldRun() {
    fs::create_directories(dir_.file("cache"));
    copy("chunks", dir_.file("cache/embeddings_chunks"));
    copy("vectors", dir_.file("vectors"));
  }

  static void copy(const std::string& name, const std::string& to) {
    fs::copy(test_data("old_run/" + name), to, fs::copy_options::recursive);
  }

  ProgramEnd run(const std::vector<std::string>& more) const {
    const std::string model = test_data("sentence_transformers/every_module");
    std::vector<std::string> words = {"run",           "--model",  model,
                                      "--chunk-size",  "2",        "--no-progress",
                                      "--keep-chunks", "--device", "cpu"};
    if (std::find(more.begin(), more.end(), "--input") == more.end()) {
      words.insert(words.end(),
                   {"--config", dir_.write("c.yaml", "input: {file: " + model + "/texts.txt}\n")});
    }
    words.insert(words.end(), more.begin(), more.end());
    return Program(dir_.path(), words).wait();
  }

  TempDir dir_;
};

TEST_F(OldRun, IsRefusedAndNoFinalIsMadeFromItsChunks) {
  const std::string cache = dir_.file("cache");
  const ProgramEnd end = run({"--cache-dir", cache});
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("its fingerprint has version 8"));
  EXPECT_FALSE(fs::exists(final_path(cache, "embeddings")));
  EXPECT_TRUE(fs::exists(cache + "/embeddings_chunks/chunk_0003.npy")) << "nothing is deleted";

  const ProgramEnd fresh = run({"--cache-dir", cache, "--fresh"});
  EXPECT_EQ(fresh.exit_code, 0) << fresh.err;
  EXPECT_TRUE(fs::exists(final_path(cache, "embeddings")));
}

// A run that only flags describe gives its stream another name, so it does not meet the old chunks.
TEST_F(OldRun, IsLeftAloneByARunOfFlags) {
  const std::string cache = dir_.file("cache");
  const std::string texts = test_data("sentence_transformers/every_module/texts.txt");
  const ProgramEnd end = run({"--cache-dir", cache, "--input", texts});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_FALSE(fs::exists(final_path(cache, "embeddings")));
  EXPECT_TRUE(fs::exists(cache + "/embeddings_chunks/chunk_0003.npy"));
}

TEST_F(OldRun, NoVectorIsTakenFromItsEmbeddingCache) {
  const auto with_cache = [this](const std::string& name) {
    return run({"--cache-dir", dir_.file(name), "--embedding-cache", dir_.file("vectors")});
  };
  const ProgramEnd first = with_cache("first");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("0.0% of 8 requests found in the embedding cache"));
  // The control: the vectors of this version are found.
  const ProgramEnd second = with_cache("second");
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("100.0% of 8 requests found in the embedding cache"));
}

}  // namespace
}  // namespace encode::testing
