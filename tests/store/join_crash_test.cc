// Tests matrices that are made of parts: with one fault at each system call, and with file systems
// that cannot do what a fast copy wants.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/store.h"

#include "store/audit.h"
#include "store/join_final.h"
#include "store/torture.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kDim = 256;
constexpr int64_t kHeader = 128;
constexpr int64_t kPage = 4096;

std::vector<float> values_of(RowRange rows) {
  std::vector<float> values(static_cast<size_t>(rows.size() * kDim));
  std::iota(values.begin(), values.end(), static_cast<float>(rows.begin % 1000));
  return values;
}

// Parts with these numbers of rows, which together are one matrix.
class Parts {
 public:
  explicit Parts(const std::vector<int64_t>& sizes) {
    joined_.made_from = "5";
    for (const int64_t size : sizes) {
      const StreamIdentity identity = identity_of({.begin = rows_, .end = rows_ + size});
      joined_.parts.push_back(dir_.file(fmt::format("part-{}.npy", joined_.parts.size())));
      const auto writer = begin_final(joined_.parts.back(), identity);
      const std::vector<float> values = values_of(identity.range());
      writer->append(values);
      writer->publish({}, {});
      expected_ += read_bytes(joined_.parts.back()).substr(kHeader);
      rows_ += size;
    }
    joined_.identity = identity_of({.begin = 0, .end = rows_});
  }

  void join(const std::string& path) const { join_finals(joined_, path); }
  const std::string& part(size_t index) const { return joined_.parts[index]; }
  std::string file_in(const std::string& folder) const { return folder + "/x.npy"; }

  // Returns "" if the folder has no matrix, or all of it and nothing else.
  std::string wrong_in(const std::string& folder) const {
    const std::string path = file_in(folder);
    if (!fs::exists(path)) return fs::exists(manifest_path(path)) ? "a manifest alone" : "";
    const std::string bytes = read_bytes(path);
    if (bytes.substr(kHeader) != expected_) return "other rows";
    if (!fs::exists(manifest_path(path))) return "";
    const bool valid = final_state(path, joined_.identity, true) == FinalState::kValid;
    return valid && read_manifest(path)->made_from == "5" ? "" : "another manifest";
  }
  // Returns "" if a join after a fault gives the matrix and leaves no other file.
  std::string wrong_after_join(const std::string& folder) const {
    if (const std::string foreign = foreign_final_file(file_in(folder)); !foreign.empty())
      return "a file that is not known as one of encode: " + foreign;
    join(file_in(folder));
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++files;
    if (files != 2) return fmt::format("{} files", files);
    return fs::exists(file_in(folder)) ? wrong_in(folder) : "no matrix";
  }

 private:
  static StreamIdentity identity_of(RowRange rows) {
    return {.name = "x",
            .fingerprint = R"({"seed":1})",
            .rows = rows.size(),
            .dim = kDim,
            .first_row = rows.begin};
  }

  TempDir dir_;
  JoinedFinals joined_;
  std::string expected_;
  int64_t rows_ = 0;
};

// A row has 1 KiB, and a block 8 MiB. The borders of the parts are in the blocks and at their ends.
const std::vector<int64_t> kSizes = {3, 0, 8189, 5000, 1, 4000};

TEST(JoinCrash, TheBordersOfPartsMayBeAnywhere) {
  const std::vector<std::vector<int64_t>> all = {
      {0}, {1}, {0, 0, 7, 0}, {8192}, {8191, 1}, {20000}, {1, 1, 1, 8190, 8192, 0}, kSizes};
  for (const auto& sizes : all) {
    const Parts parts(sizes);
    const TempDir folder;
    EXPECT_EQ(parts.wrong_after_join(folder.path()), "") << sizes.size();
  }
}

TEST(JoinCrash, ThereMayBeMorePartsThanAProcessMayHaveOpenFiles) {
  const Parts parts(std::vector<int64_t>(60, 5));
  const TempDir folder;
  const auto join = [&](const auto&) {
    const rlimit few = {.rlim_cur = 40, .rlim_max = 40};
    ::setrlimit(RLIMIT_NOFILE, &few);
    parts.join(parts.file_in(folder.path()));
  };
  const ChildResult result = run_child(join, {});
  EXPECT_EQ(result.exit_code, 0) << result.message;
  EXPECT_EQ(parts.wrong_after_join(folder.path()), "");
}

// Kills a join at its k-th system call, for k = 1, 2, ..., until a join makes fewer calls than k.
int64_t sweep(FaultMode mode) {
  const Parts parts({3, 0, 9000});
  for (int64_t k = 1;; ++k) {
    const TempDir folder;
    const auto join = [&](const auto&) { parts.join(parts.file_in(folder.path())); };
    const ChildResult result = run_child(join, fault_plan(folder.path(), mode, k));
    EXPECT_TRUE(result.killed || result.exit_code == 0) << "call " << k << ": " << result.message;
    EXPECT_EQ(parts.wrong_in(folder.path()), "") << "call " << k;
    EXPECT_EQ(parts.wrong_after_join(folder.path()), "") << "call " << k;
    if (!result.killed) return k - 1;
  }
}

TEST(JoinCrash, KillBeforeEveryCall) { EXPECT_GT(sweep(FaultMode::kKillBefore), 15); }

TEST(JoinCrash, KillAfterEveryCall) { EXPECT_GT(sweep(FaultMode::kKillAfter), 15); }

TEST(JoinCrash, FullDiskFromEveryCallOn) {
  const Parts parts({3, 0, 9000});
  int64_t failed = 0;
  for (int64_t k = 1; k < 40; ++k) {
    const TempDir folder;
    FaultPlan plan = fault_plan(folder.path(), FaultMode::kErrno, k);
    plan.error = ENOSPC;
    plan.persistent = true;
    const auto join = [&](const auto&) { parts.join(parts.file_in(folder.path())); };
    const ChildResult result = run_child(join, plan);
    EXPECT_EQ(result.signal, 0) << "call " << k;
    if (result.exit_code != 0) {
      ++failed;
      EXPECT_EQ(result.exit_code, static_cast<int>(ExitCode::kIoError)) << result.message;
    }
    EXPECT_EQ(parts.wrong_in(folder.path()), "") << "call " << k;
    EXPECT_EQ(parts.wrong_after_join(folder.path()), "") << "call " << k;
  }
  EXPECT_GT(failed, 12);
}

// What a join wrote into its folder in a child process.
struct Written {
  ChildResult result;
  int64_t bytes = 0;
};

int64_t g_written = 0;

Written join_with(const Parts& parts, const std::string& folder, const char* call, int error) {
  FaultPlan plan = fault_plan(folder, FaultMode::kErrno, 1);
  plan.error = error;
  std::snprintf(plan.call, sizeof plan.call, "%s", call);
  plan.on_change = [](const Change& change) {
    if (change.kind == Change::Kind::kWrite && change.path.find("x.npy.tmp") != std::string::npos)
      __atomic_add_fetch(&g_written, std::ssize(change.bytes), __ATOMIC_SEQ_CST);
  };
  Written written;
  written.result = run_child(
      [&](const std::function<void(int64_t)>& ack) {
        parts.join(parts.file_in(folder));
        ack(g_written);
      },
      plan);
  if (!written.result.acked.empty()) written.bytes = written.result.acked.front();
  return written;
}

// posix_fallocate() writes into every block where the file system cannot reserve space, as on NFS
// before version 4.2 (axboe/fio 376). A join writes every byte once.
TEST(JoinCrash, AFileSystemThatReservesNoSpaceGetsEveryByteOnce) {
  const Parts parts(kSizes);
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    const TempDir folder;
    const Written written = join_with(parts, folder.path(), "fallocate", error);
    EXPECT_EQ(written.result.exit_code, 0) << written.result.message;
    EXPECT_EQ(written.bytes, std::ssize(read_bytes(parts.file_in(folder.path()))));
    EXPECT_EQ(parts.wrong_in(folder.path()), "");
  }
  const TempDir folder;
  const Written full = join_with(parts, folder.path(), "fallocate", ENOSPC);
  EXPECT_EQ(full.result.exit_code, static_cast<int>(ExitCode::kIoError)) << "the control";
}

// Some file systems open a file past the page cache and refuse each write then.
TEST(JoinCrash, AFileSystemThatRefusesDirectWritesGetsTheSameBytes) {
  const Parts parts(kSizes);
  const TempDir folder;
  const Written written = join_with(parts, folder.path(), "pwrite", EINVAL);
  EXPECT_EQ(written.result.exit_code, 0) << written.result.message;
  EXPECT_EQ(parts.wrong_in(folder.path()), "");
  const TempDir other;
  const Written failed = join_with(parts, other.path(), "pwrite", EIO);
  EXPECT_EQ(failed.result.exit_code, static_cast<int>(ExitCode::kIoError)) << "the control";
  EXPECT_FALSE(fs::exists(parts.file_in(other.path())));
}

TEST(JoinCrash, ADamagedPartIsFoundWhereverTheDamageIs) {
  const Parts parts(kSizes);
  for (const size_t part : {size_t{0}, size_t{1}, size_t{2}, size_t{5}}) {
    const std::string good = read_bytes(parts.part(part));
    for (const size_t at : {size_t{100}, good.size() / 2, good.size() - 1}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      write_bytes(parts.part(part), bytes);
      const TempDir folder;
      const ErrorDetail error = error_of([&] { parts.join(parts.file_in(folder.path())); });
      EXPECT_EQ(error.exit_code, ExitCode::kData) << part << ", " << at;
      EXPECT_EQ(error.where, parts.part(part));
      EXPECT_TRUE(fs::is_empty(folder.path()));
    }
    write_bytes(parts.part(part), good.substr(0, good.size() - (part == 1 ? 1 : kPage / 4)));
    const TempDir folder;
    EXPECT_EQ(error_of([&] { parts.join(parts.file_in(folder.path())); }).exit_code,
              ExitCode::kData);
    write_bytes(parts.part(part), good);
  }
  const TempDir folder;
  EXPECT_EQ(parts.wrong_after_join(folder.path()), "") << "the control";
}

}  // namespace
}  // namespace encode::testing
