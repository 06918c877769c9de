// Tests the keys of the embedding cache: sizes with units, and what is refused.
#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "config/load.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

EmbeddingCacheOptions load(const std::string& keys) {
  const TempDir dir;
  return load_config(dir.write("run.yaml", "semantic:\n  model: m\n  embedding_cache: {" + keys +
                                               "}\ninput: {file: a.txt}\n"),
                     {})
      .run.embedding_cache;
}

TEST(EmbeddingCacheKeys, AreOffByDefault) { EXPECT_EQ(load(""), EmbeddingCacheOptions()); }

TEST(EmbeddingCacheKeys, HaveSizesWithUnits) {
  const EmbeddingCacheOptions options = load("dir: vectors, memory: 1.5 GiB, disk: 20GB");
  EXPECT_EQ(options.dir, "vectors");
  EXPECT_EQ(options.memory_bytes, 1'610'612'736);
  EXPECT_EQ(options.disk_bytes, 20'000'000'000);
  EXPECT_EQ(load("dir: v, memory: 0 MB").memory_bytes, 0);
}

TEST(EmbeddingCacheKeys, RefuseOtherSizes) {
  for (const char* keys : {"memory: 512", "memory: 5 XB", "memory: -1 MB", "memory: much",
                           "disk: 15 MB", "disk: 0 MB", "disk: 2000000 TB", "dirs: x"}) {
    try {
      load(keys);
      ADD_FAILURE() << keys;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kConfig) << keys;
      EXPECT_FALSE(error.detail().expected.empty()) << keys;
    }
  }
}

}  // namespace
}  // namespace encode::testing
