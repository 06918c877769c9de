// Tests a store to which several workers write at once.
#include <barrier>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SharedStore : public ::testing::Test {
 protected:
  SharedStore() { open(ChunkStore::Open::kResume); }

  std::unique_ptr<ChunkStore> open(ChunkStore::Open mode) const {
    return ChunkStore::open(dir_.path(), job_.identity, job_.chunk_rows, mode);
  }
  std::unique_ptr<ChunkStore> join() const { return open(ChunkStore::Open::kJoin); }
  void commit(ChunkStore& store, int64_t index) const {
    commit_chunk(store, index, job_.identity.dim);
  }
  std::string log_path() const { return folder() + "/chunks.log"; }
  std::string folder() const { return chunks_dir(dir_.path(), job_.identity.name); }
  // Returns the final matrix that the chunks on disk give.
  std::string final_bytes() const {
    const auto store = open(ChunkStore::Open::kResume);
    EXPECT_THAT(store->dropped(), IsEmpty());
    store->assemble(job_.final_path(dir_.path()), {}, {});
    return read_bytes(job_.final_path(dir_.path()));
  }

  TempDir dir_;
  const FakeJob job_;
};

TEST_F(SharedStore, AClaimExcludesOthersUntilItsStoreIsGone) {
  auto a = join();
  const auto b = join();
  EXPECT_TRUE(a->claim(0));
  EXPECT_TRUE(a->claim(0)) << "a claim can be repeated";
  EXPECT_FALSE(b->claim(0));
  EXPECT_TRUE(b->claim(1));
  a.reset();
  EXPECT_TRUE(b->claim(0));
}

TEST_F(SharedStore, TheClaimsOfAKilledProcessAreFree) {
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = join();
    const char claimed = store->claim(3) ? 1 : 0;
    if (::write(ready[1], &claimed, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char claimed = 0;
  ASSERT_EQ(::read(ready[0], &claimed, 1), 1);
  const auto store = join();
  EXPECT_TRUE(claimed == 1 && !store->claim(3));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(store->claim(3));
}

TEST_F(SharedStore, ACommittedChunkCannotBeClaimedByAStoreThatWasOpenBefore) {
  const auto b = join();
  {
    const auto a = join();
    ASSERT_TRUE(a->claim(2));
    commit(*a, 2);
  }
  EXPECT_FALSE(b->claim(2));
  EXPECT_THAT(b->committed(), SizeIs(1));
}

// Returns how many locks the kernel holds on the file, in all processes.
int locks_on(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  std::ifstream locks("/proc/locks");
  int count = 0;
  for (std::string line; std::getline(locks, line);)
    count += line.find(fmt::format(":{} ", status.st_ino)) != std::string::npos ? 1 : 0;
  return count;
}

// For each new lock the kernel looks through all locks of the file, so a worker must not keep many.
TEST_F(SharedStore, AClaimIsFreedWhenItsChunkIsCommitted) {
  const auto a = join();
  const auto b = join();
  for (int64_t index = 0; index < a->chunk_count(); index += 2) {
    ASSERT_TRUE(a->claim(index));
    EXPECT_EQ(locks_on(folder() + "/chunks.log"), 1) << "the claim of this chunk alone";
    commit(*a, index);
    EXPECT_FALSE(b->claim(index));
    EXPECT_EQ(locks_on(folder() + "/chunks.log"), 0) << index;
  }
}

// Runs four workers that all try to claim each chunk before one of them commits it. Returns how
// often each chunk was encoded.
std::vector<int> encode_together(const std::string& cache, const FakeJob& job) {
  std::vector<std::vector<int>> counts(4, std::vector<int>(30));
  std::vector<std::thread> workers;
  std::barrier all_have_tried(4);
  for (std::vector<int>& count : counts) {
    workers.emplace_back([&] {
      const auto store = ChunkStore::open(cache, job.identity, 1, ChunkStore::Open::kJoin);
      for (int64_t index = 0; index < store->chunk_count(); ++index) {
        const bool claimed = store->claim(index);
        all_have_tried.arrive_and_wait();
        if (!claimed) continue;
        ++count[static_cast<size_t>(index)];
        commit_chunk(*store, index, job.identity.dim);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::vector<int> sum(30);
  for (const std::vector<int>& count : counts) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += count[i];
  }
  return sum;
}

TEST(SharedStoreWorkers, EncodeEachChunkOnce) {
  const TempDir dir;
  FakeJob job;
  job.chunk_rows = 1;
  ChunkStore::open(dir.path(), job.identity, 1, ChunkStore::Open::kResume);
  EXPECT_THAT(encode_together(dir.path(), job), Each(1));
  const auto store = ChunkStore::open(dir.path(), job.identity, 1, ChunkStore::Open::kResume);
  EXPECT_THAT(store->dropped(), IsEmpty());
  store->assemble(job.final_path(dir.path()), {}, {});
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
}

// The control of the test above: if locks do nothing, chunks are encoded several times. The bytes
// are still right.
TEST(SharedStoreWorkers, EncodeChunksTwiceIfClaimsDoNothing) {
  const TempDir dir;
  FakeJob job;
  job.chunk_rows = 1;
  ChunkStore::open(dir.path(), job.identity, 1, ChunkStore::Open::kResume);
  set_fault_plan(fault_plan(dir.path(), FaultMode::kDropLock, 0));
  const std::vector<int> counts = encode_together(dir.path(), job);
  set_fault_plan({});
  EXPECT_THAT(counts, Each(4));
  const auto store = ChunkStore::open(dir.path(), job.identity, 1, ChunkStore::Open::kResume);
  store->assemble(job.final_path(dir.path()), {}, {});
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
}

// A worker that dies on a full disk leaves half a line. The next worker must not append its line to
// this half.
TEST_F(SharedStore, TheNextAppendCutsOffAnUnfinishedLine) {
  const auto a = join();
  const auto b = join();
  for (int64_t index = 0; index < a->chunk_count(); ++index) {
    ChunkStore& store = index % 2 == 0 ? *a : *b;
    ASSERT_TRUE(store.claim(index));
    commit(store, index);
    std::ofstream(log_path(), std::ios::app) << R"({"checksum":"0123)";
  }
  EXPECT_FALSE(join()->claim(0)) << "the unfinished line hides no record";
  std::ofstream(log_path(), std::ios::app) << "\n";
  const auto store = open(ChunkStore::Open::kResume);
  EXPECT_THAT(store->pending(), IsEmpty());
  EXPECT_THAT(store->dropped(), SizeIs(1)) << "the last half line, which no append came after";
  EXPECT_EQ(final_bytes(), expected_final(job_));
}

TEST_F(SharedStore, JoiningDeletesAndRepairsNothing) {
  const std::string stray = folder() + "/chunk_0001.npy";
  const std::string temp = folder() + "/.chunk_0002.npy.tmp.7.0123456789abcdef";
  for (const std::string& path : {stray, temp}) write_bytes(path, "x");
  EXPECT_THAT(join()->pending(), SizeIs(8));
  EXPECT_TRUE(std::filesystem::exists(stray) && std::filesystem::exists(temp));
}

TEST_F(SharedStore, RemovedChunksAreNoWork) {
  const auto before = join();
  const auto store = join();
  for (int64_t index = 0; index < store->chunk_count(); ++index) {
    ASSERT_TRUE(store->claim(index));
    commit(*store, index);
  }
  store->remove();
  EXPECT_EQ(join(), nullptr);
  for (int64_t index = 0; index < before->chunk_count(); ++index)
    EXPECT_FALSE(before->claim(index)) << index;
}

TEST_F(SharedStore, AnotherStreamIsRefused) {
  FakeJob other = job_;
  other.identity.fingerprint = R"({"seed":2})";
  try {
    ChunkStore::open(dir_.path(), other.identity, 4, ChunkStore::Open::kJoin);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "store.foreign");
  }
}

TEST_F(SharedStore, OnlyAJoinedStoreHasClaims) {
  EXPECT_THROW(open(ChunkStore::Open::kResume)->claim(0), Error);
}

}  // namespace
}  // namespace encode::testing
