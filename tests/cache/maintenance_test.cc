// Tests the functions of `encode cache`, and that a store that ends the process that reads it does
// not end the caller of run_isolated().
#include "cache/maintenance.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "cache/isolated.h"
#include "known_rows.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 384;

EmbeddingCacheOptions options(const TempDir& dir) {
  return {.dir = dir.file("cache"), .memory_bytes = 0, .disk_bytes = 100'000'000};
}

void fill(const TempDir& dir, int64_t rows) {
  EmbeddingCache cache(options(dir));
  for (int64_t row = 0; row < rows; row += 1000) add_rows(cache, row, row + 1000, kDim);
}

TEST(Maintenance, CountsWhatIsThere) {
  const TempDir dir;
  fill(dir, 5000);
  const CacheContent content = read_cache_content(dir.file("cache"));
  EXPECT_EQ(content.rows, 5000);
  EXPECT_GT(content.live_bytes, 5000 * kDim * 4);
  EXPECT_GE(content.file_bytes, content.live_bytes);
  EXPECT_GT(content.oldest_use, 0);
  const CacheAudit audit = audit_cache(dir.file("cache"));
  EXPECT_EQ(audit.records, 5000);
  EXPECT_EQ(audit.rows, 5000);
  EXPECT_FALSE(audit.damaged());
}

TEST(Maintenance, AuditFindsAChangedByte) {
  const TempDir dir;
  fill(dir, 1000);
  std::string bytes = read_bytes(dir.file("cache/data.mdb"));
  const float value = known_values(50, kDim)[7];
  const size_t place = bytes.find(std::string(reinterpret_cast<const char*>(&value), 4));
  ASSERT_NE(place, std::string::npos);
  bytes[place] = static_cast<char>(bytes[place] ^ 1);
  write_bytes(dir.file("cache/data.mdb"), bytes);
  const CacheAudit audit = audit_cache(dir.file("cache"));
  EXPECT_EQ(audit.damaged_records, 1);
  EXPECT_EQ(audit.lost_rows, 1);
}

TEST(Maintenance, PruneMakesTheFileSmallerAndKeepsGoodRows) {
  const TempDir dir;
  fill(dir, 10'000);
  const PruneResult result = prune_cache(dir.file("cache"), 5'000'000);
  EXPECT_GT(result.deleted_blocks, 0);
  EXPECT_GT(result.rows, 2000);
  EXPECT_LE(std::filesystem::file_size(dir.file("cache/data.mdb")), 5'000'000U);
  const CacheAudit audit = audit_cache(dir.file("cache"));
  EXPECT_EQ(audit.rows, result.rows);
  EXPECT_FALSE(audit.damaged());
  EmbeddingCache cache(options(dir));
  add_rows(cache, 0, 100, kDim);
  EXPECT_EQ(ask(cache, 0, kDim), Answer::kRight);
}

TEST(Maintenance, ClearDeletesOnlyFilesOfTheCache) {
  const TempDir dir;
  fill(dir, 1000);
  dir.write("cache/notes.txt", "mine");
  EXPECT_GT(clear_cache(dir.file("cache")), 1'000'000);
  EXPECT_EQ(read_bytes(dir.file("cache/notes.txt")), "mine");
  EXPECT_EQ(read_cache_content(dir.file("cache")).rows, 0);
  fill(dir, 1000);
  EXPECT_EQ(read_cache_content(dir.file("cache")).rows, 1000);
}

TEST(Maintenance, PruneAndClearWaitForNobodyAndChangeNothingInUse) {
  const TempDir dir;
  fill(dir, 1000);
  EmbeddingCache cache(options(dir));
  EXPECT_EQ(code_of([&] { prune_cache(dir.file("cache"), 0); }), "cache.in_use");
  EXPECT_EQ(code_of([&] { clear_cache(dir.file("cache")); }), "cache.in_use");
  EXPECT_EQ(ask(cache, 500, kDim), Answer::kRight);
}

TEST(Maintenance, RefusesAFolderWithoutAMarker) {
  const TempDir dir;
  dir.write("other/data.mdb", "of another program");
  EXPECT_EQ(code_of([&] { clear_cache(dir.file("other")); }), "cache.missing");
  EXPECT_EQ(read_bytes(dir.file("other/data.mdb")), "of another program");
}

TEST(Isolated, ReturnsWhatTheWorkReturnsOrThrows) {
  const auto long_text = [](const StoreStalled&) { return std::string(100'000, 'x'); };
  EXPECT_EQ(run_isolated("dir", long_text).size(), 100'000U);
  const auto fails = [](const StoreStalled&) -> std::string {
    throw system_error("cache.store", "read", "x", EIO);
  };
  EXPECT_EQ(code_of([&] { run_isolated("dir", fails); }), "cache.store");
}

TEST(Isolated, TurnsASignalIntoAnError) {
  EXPECT_EQ(code_of([] {
              run_isolated("dir", [](const StoreStalled&) -> std::string {
                ::signal(SIGSEGV, SIG_DFL);
                ::raise(SIGSEGV);
                return "";
              });
            }),
            "cache.damaged");
}

TEST(Isolated, EndsWorkThatIsStuckWithItsError) {
  EXPECT_EQ(code_of([] {
              run_isolated("dir", [](const StoreStalled& stalled) -> std::string {
                StoreWatch watch({.path = "dir"}, stalled, std::chrono::milliseconds(300));
                const StoreWatch::Step step(watch, "waits");
                std::this_thread::sleep_for(std::chrono::hours(1));
                return "";
              });
            }),
            "cache.stalled");
}

TEST(Isolated, HasAMemoryLimit) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer takes more memory than the limit";
#endif
  EXPECT_EQ(code_of([] {
              run_isolated("dir", [](const StoreStalled&) {
                const std::vector<char> bytes(2 * kIsolatedBytes, 'x');
                return std::string(bytes.data() + bytes.size() / 2, 1);
              });
            }),
            "cache.damaged");
}

// The kernel kills a process if the host runs out of memory. This says nothing about the cache.
TEST(Isolated, AKilledChildIsNoDamage) {
  EXPECT_EQ(code_of([] {
              run_isolated("dir", [](const StoreStalled&) {
                ::raise(SIGKILL);
                return std::string();
              });
            }),
            "cache.killed");
}

// A killed command leaves no child that holds locks of the cache.
TEST(Isolated, TheChildDiesWithItsParent) {
  const TempDir dir;
  const std::string pid_file = dir.file("pid");
  const pid_t parent = ::fork();
  if (parent == 0) {
    run_isolated("dir", [&](const StoreStalled&) -> std::string {
      write_bytes(pid_file + ".part", std::to_string(::getpid()));
      std::filesystem::rename(pid_file + ".part", pid_file);
      std::this_thread::sleep_for(std::chrono::hours(1));
      return "";
    });
  }
  while (!std::filesystem::exists(pid_file))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const pid_t child = std::stoi(read_bytes(pid_file));
  EXPECT_EQ(::kill(child, 0), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  // The process that adopts the child may leave it as a zombie.
  const auto runs = [&] {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    return !text.empty() && text.find(") Z") == std::string::npos;
  };
  for (int n = 0; n < 5000 && runs(); ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(runs());
}

}  // namespace
}  // namespace encode::testing
