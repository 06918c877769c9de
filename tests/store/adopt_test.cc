// Tests that a run takes over the chunks of other runs, and nothing that is not whole.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Adopt : public ::testing::Test {
 protected:
  // Commits chunks of the job in the cache directory `name`, and returns its path.
  std::string run(const std::string& name, const std::vector<int64_t>& chunks) const {
    const std::string cache = dir_.file(name);
    fs::create_directories(cache);
    const auto store =
        ChunkStore::open(cache, job_.identity, job_.chunk_rows, ChunkStore::Open::kResume);
    for (const int64_t chunk : chunks) commit_chunk(*store, chunk, job_.identity.dim);
    return cache;
  }
  // Returns the chunks that a run in `to` finds.
  std::vector<int64_t> adopted(const std::vector<std::string>& from) const {
    const std::string to = dir_.file("to");
    fs::remove_all(to);
    fs::create_directories(to);
    adopt_chunks(from, to, job_.identity);
    const auto store =
        ChunkStore::open(to, job_.identity, job_.chunk_rows, ChunkStore::Open::kResume);
    std::vector<int64_t> chunks;
    for (const ChunkRecord& record : store->committed()) chunks.push_back(record.index);
    return chunks;
  }
  std::string chunk(const std::string& cache, const std::string& name) const {
    return chunks_dir(cache, job_.identity.name) + "/" + name;
  }

  TempDir dir_;
  const FakeJob job_;
};

TEST_F(Adopt, ChunksOfSeveralRunsAreUnited) {
  const std::string a = run("a", {0, 2});
  const std::string b = run("b", {1, 2});
  EXPECT_THAT(adopted({a, b}), ElementsAre(0, 1, 2));
  EXPECT_THAT(adopted({dir_.file("absent")}), IsEmpty());
  EXPECT_THAT(run("a", {}), a) << "the other run goes on";
}

TEST_F(Adopt, AChunkThatIsGoneInOneRunIsTakenFromAnother) {
  const std::string a = run("a", {0, 1});
  const std::string b = run("b", {1});
  fs::remove(chunk(a, "chunk_0001.npy"));
  EXPECT_THAT(adopted({a}), ElementsAre(0));
  EXPECT_THAT(adopted({a, b}), ElementsAre(0, 1));
}

TEST_F(Adopt, ADamagedChunkIsDroppedByTheRunThatOpensIt) {
  const std::string a = run("a", {0, 1});
  std::string bytes = read_bytes(chunk(a, "chunk_0000.npy"));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(chunk(a, "chunk_0000.npy"), bytes);
  EXPECT_THAT(adopted({a}), ElementsAre(1));
}

TEST_F(Adopt, ChunksOfAnotherStreamAreLeft) {
  const std::string a = run("a", {0});
  for (const std::string& name : {std::string("stream.json"), std::string("chunks.log")}) {
    const std::string good = read_bytes(chunk(a, name));
    std::string bad = good;
    bad[60] = static_cast<char>(bad[60] ^ 1);
    write_bytes(chunk(a, name), bad);
    EXPECT_THAT(adopted({a}), IsEmpty()) << name;
    write_bytes(chunk(a, name), good);
  }
  StreamIdentity later = job_.identity;
  later.first_row = 5;
  EXPECT_EQ(adopt_chunks({a}, dir_.file("later"), later), 0);
  EXPECT_THAT(adopted({a}), ElementsAre(0)) << "the control";
}

}  // namespace
}  // namespace encode::testing
