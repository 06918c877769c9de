// Tests that a run takes over the chunks of other runs, and nothing that is not whole.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "store/attempt_folders.h"
#include "store/audit.h"
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

// `encode retry-failed` leaves such a pair.
TEST_F(Adopt, AChunkThatLacksRowsIsTakenOnlyIfNoRunHasThemAll) {
  const std::string lacking = dir_.file("lacking");
  FakeJob lacks = job_;
  lacks.set_aside = {1};
  fs::create_directories(lacking);
  const auto store =
      ChunkStore::open(lacking, job_.identity, job_.chunk_rows, ChunkStore::Open::kResume);
  for (const int64_t index : {0, 1}) commit_chunk(*store, index, lacks);
  const auto rows_set_aside = [&](const std::vector<std::string>& from) {
    adopted(from);
    return ChunkStore::open(dir_.file("to"), job_.identity, job_.chunk_rows,
                            ChunkStore::Open::kResume)
        ->set_aside()
        .size();
  };
  EXPECT_EQ(rows_set_aside({lacking}), 1U);
  EXPECT_EQ(rows_set_aside({lacking, run("whole", {0})}), 0U);
}

TEST_F(Adopt, ChunksOfAnyStreamAreThoseOfTheFirstRunThatHasSome) {
  const std::string a = run("a", {0});
  const std::string empty = run("empty", {});
  FakeJob other = job_;
  other.identity.fingerprint = R"({"seed":2})";
  const std::string b = dir_.file("b");
  fs::create_directories(b);
  const auto store =
      ChunkStore::open(b, other.identity, other.chunk_rows, ChunkStore::Open::kResume);
  for (const int64_t index : {1, 2}) commit_chunk(*store, index, other);
  const std::string& name = job_.identity.name;
  EXPECT_EQ(adopt_chunks_of_any({empty, b, a}, dir_.file("of_b"), name), 2);
  EXPECT_EQ(read_chunk_progress(chunks_dir(dir_.file("of_b"), name)).identity.fingerprint,
            other.identity.fingerprint);
  EXPECT_EQ(adopt_chunks_of_any({empty, a, b}, dir_.file("of_a"), name), 1);
  EXPECT_EQ(adopt_chunks_of_any({empty}, dir_.file("none"), name), 0);
}

}  // namespace
}  // namespace encode::testing
