// Tests that several processes can share a cache, and that a killed process does not damage it.
// tests/soak/embedding_cache.sh does the same 200 times.
#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "cache/lmdb_store.h"
#include "cache/maintenance.h"
#include "known_rows.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 384;

// Starts `cache_load fill` for the rows [begin, end).
pid_t start_writer(const TempDir& dir, int64_t begin, int64_t end) {
  const std::string cache = dir.file("cache");
  const std::vector<std::string> words = {
      built_file(CACHE_LOAD_PROGRAM), "fill",     cache, std::to_string(begin), std::to_string(end),
      std::to_string(kDim),           "200000000"};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDOUT_FILENO);
    ::execv(words.front().c_str(), arguments.data());
    ::_exit(127);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

int64_t right_rows(const TempDir& dir, int64_t rows) {
  EmbeddingCache cache({.dir = dir.file("cache"), .memory_bytes = 0, .disk_bytes = 200'000'000});
  int64_t right = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const Answer answer = ask(cache, row, kDim);
    EXPECT_NE(answer, Answer::kWrong) << row;
    right += answer == Answer::kRight ? 1 : 0;
  }
  return right;
}

TEST(Processes, TwoWriteAtOnce) {
  const TempDir dir;
  const pid_t first = start_writer(dir, 0, 10'000);
  const pid_t second = start_writer(dir, 5000, 15'000);  // half of the rows are the same
  EXPECT_EQ(wait_for(first), 0);
  EXPECT_EQ(wait_for(second), 0);
  EXPECT_EQ(right_rows(dir, 15'000), 15'000);
  EXPECT_FALSE(audit_cache(dir.file("cache")).damaged());
}

// Takes the lock of LMDB that a process holds while it makes a store.
void lock_as_maker(const CacheFolder& folder) {
  const int lock = ::open(folder.locks().c_str(), O_RDWR | O_CLOEXEC);
  struct flock first_byte = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1, .l_pid = 0};
  if (::fcntl(lock, F_SETLK, &first_byte) != 0) ::_exit(1);
}

// The kernel may let a process wait in the middle of a write, for example because too many pages
// are dirty.
TEST(Processes, AStoreThatAnotherProcessIsMakingIsOpened) {
  constexpr size_t kStep = 7 * 4096;  // with pages of 4 kB the first one, with larger ones three
  const TempDir dir;
  const CacheFolder folder{.path = dir.path()};
  prepare_folder(folder);
  const auto page_bytes = LmdbStore(folder, 0, LmdbStore::Access::kWrite).page_bytes();
  const std::string whole = read_bytes(folder.data());
  for (size_t written = 4096; written < static_cast<size_t>(2 * page_bytes); written += kStep) {
    for (const auto access : {LmdbStore::Access::kWrite, LmdbStore::Access::kRead}) {
      write_bytes(folder.data(), whole.substr(0, written));
      std::array<int, 2> ready;
      ASSERT_EQ(::pipe(ready.data()), 0);
      const pid_t maker = ::fork();
      if (maker == 0) {
        lock_as_maker(folder);
        if (::write(ready[1], "x", 1) != 1) ::_exit(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        write_bytes(folder.data(), whole);
        ::_exit(0);
      }
      char byte;
      ASSERT_EQ(::read(ready[0], &byte, 1), 1);
      EXPECT_NO_THROW(LmdbStore(folder, 0, access)) << written;
      EXPECT_EQ(wait_for(maker), 0);
    }
  }
}

TEST(Processes, AKillLeavesNoWrongRow) {
  const TempDir dir;
  for (int kill = 0; kill < 6; ++kill) {
    const pid_t writer = start_writer(dir, 0, 1'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + 17 * kill));
    ::kill(writer, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(wait_for(writer)));
  }
  right_rows(dir, 20'000);
  EXPECT_FALSE(audit_cache(dir.file("cache")).damaged());
  EmbeddingCache cache({.dir = dir.file("cache"), .memory_bytes = 0, .disk_bytes = 200'000'000});
  add_rows(cache, 0, 1000, kDim);
  EXPECT_EQ(ask(cache, 999, kDim), Answer::kRight) << "the cache can still be written";
}

}  // namespace
}  // namespace encode::testing
