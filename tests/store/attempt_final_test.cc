// Tests that two attempts which publish the same final matrix at the same time, each of them
// standing still before any of its system calls, never leave a matrix that is not whole, and that
// none of them changes what the other one has published.
#include "store/attempt_final.h"

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/store.h"

#include "store/fault.h"
#include "store/link_final.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using Files = std::map<std::string, std::string>;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Lets threads stand still before a call.
class Stops {
 public:
  // Is called by a thread before each call.
  void before_call() {
    if (calls_left < 0 || calls_left-- > 0) return;
    std::unique_lock<std::mutex> lock(mutex_);
    still_.insert(std::this_thread::get_id());
    changed_.notify_all();
    changed_.wait(lock, [&] { return !still_.contains(std::this_thread::get_id()); });
  }
  // Waits until the thread stands still or has ended.
  void wait_for(std::thread::id id, const bool& ended) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return still_.contains(id) || ended; });
  }
  void go_on(std::thread::id id) {
    change([&] { still_.erase(id); });
  }
  void change(const std::function<void()>& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    what();
    changed_.notify_all();
  }

  static thread_local int64_t calls_left;  // before the thread stands still; below 0: never

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::thread::id> still_;
};

thread_local int64_t Stops::calls_left = -1;
Stops stops;

// How a publication ended.
enum class End { kPublished, kNotOurs, kTaken };

// Publishes on a thread of its own, which stands still before call number `stop`.
class Publication {
 public:
  Publication(const std::function<End()>& publish, int64_t stop)
      : thread_([this, publish, stop] {
          Stops::calls_left = stop;
          const End end = publish();
          Stops::calls_left = -1;
          stops.change([&] {
            end_ = end;
            ended_ = true;
          });
        }) {}
  void stand_still() { stops.wait_for(thread_.get_id(), ended_); }
  bool ended() const { return ended_; }
  End finish() {
    stops.go_on(thread_.get_id());
    thread_.join();
    return end_;
  }

 private:
  bool ended_ = false;
  End end_ = End::kTaken;
  std::thread thread_;
};

class MoveFinal : public ::testing::Test {
 protected:
  enum class Before { kNothing, kMatrix, kManifestAlone, kMatrixAlone };
  using Publish = std::function<End(const std::string& from, const FinalSeen& seen)>;

  void TearDown() override { set_fault_plan({}); }

  std::string to() const { return dir_.file("out/x.npy"); }
  std::string from(int attempt) const {
    return dir_.file(fmt::format("attempts/attempt-{:016}/x.npy", attempt));
  }
  static void make(const std::string& path, int value, bool ledger) {
    fs::create_directories(fs::path(path).parent_path());
    const auto writer = begin_final(path, kIdentity);
    for (int64_t row = 0; row < kIdentity.rows; ++row)
      writer->append(
          std::vector<float>(static_cast<size_t>(kIdentity.dim), static_cast<float>(value)));
    RowStats stats;
    if (ledger) {
      writer->append_truncated(
          std::vector<TruncatedRow>{{.row = 0, .tokens = 1, .lost_tokens = 1}});
      stats.truncated_rows = stats.lost_tokens = 1;
    }
    writer->publish(stats, {.device = fmt::format("device {}", value)});
  }
  static Files files_beside(const std::string& path) {
    Files files;
    for (const std::string& file : final_files(path)) {
      if (fs::exists(file))
        files[file.substr(path.size() - std::string("x.npy").size())] = read_bytes(file);
    }
    return files;
  }
  bool is_whole() const {
    return final_state(to(), kIdentity, /*check_hash=*/true) == FinalState::kValid;
  }

  void prepare(Before before) const {
    fs::remove_all(dir_.file("out"));
    fs::remove_all(dir_.file("attempts"));
    fs::create_directories(dir_.file("out"));
    if (before != Before::kNothing) make(to(), 9, /*ledger=*/true);
    if (before == Before::kManifestAlone) fs::remove(to());
    if (before == Before::kMatrixAlone) fs::remove(manifest_path(to()));
    make(from(1), 1, /*ledger=*/true);
    make(from(2), 2, /*ledger=*/true);
  }

  struct Count {
    int64_t schedules = 0;
    int64_t none = 0;    // neither has published
    int64_t both = 0;    // both say that they have published
    int64_t broken = 0;  // one has published, and what is there is not whole or not its matrix
  };

  // The first one stands still before call i, then the second one before call j; the first one goes
  // on to its end, then the second one.
  Count all_schedules(Before before, const Publish& publish) {
    Count count;
    bool more = true;
    for (int64_t i = 0; more; ++i) {
      more = false;
      for (int64_t j = 0;; j = j < kMostCalls ? j + 1 : kNever) {
        const auto [first_stood, second_stood] = run(before, publish, {i, j}, count);
        more = more || first_stood;
        if (!second_stood || j == kNever) break;
      }
    }
    return count;
  }

  TempDir dir_;
  FaultPlan plan_;  // without its root

 private:
  static constexpr int64_t kMostCalls = 60;
  static const StreamIdentity kIdentity;

  std::pair<bool, bool> run(Before before, const Publish& publish, std::pair<int64_t, int64_t> at,
                            Count& count) {
    prepare(before);
    const std::vector<Files> made = {{}, files_beside(from(1)), files_beside(from(2))};
    const FinalSeen seen = look_at_final(to());
    FaultPlan plan = plan_;
    std::snprintf(plan.root, sizeof plan.root, "%s", dir_.path().c_str());
    plan.before_call = [] { stops.before_call(); };
    set_fault_plan(plan);
    Publication first([&] { return publish(from(1), seen); }, at.first);
    first.stand_still();
    const bool first_stood = !first.ended();
    Publication second([&] { return publish(from(2), seen); }, at.second);
    second.stand_still();
    const bool second_stood = !second.ended();
    const End first_end = first.finish();
    const End second_end = second.finish();
    set_fault_plan({});
    ++count.schedules;
    const bool by_first = first_end == End::kPublished;
    const bool by_second = second_end == End::kPublished;
    if (!by_first && !by_second) ++count.none;
    if (by_first && by_second) ++count.both;
    const Files found = files_beside(to());
    const bool is_one = (by_first && found == made[1]) || (by_second && found == made[2]);
    if ((by_first || by_second) && (!is_one || !is_whole())) ++count.broken;
    return {first_stood, second_stood};
  }
};

const StreamIdentity MoveFinal::kIdentity = {
    .name = "s", .fingerprint = R"({"seed":1})", .rows = 3, .dim = 2};

End move(const std::string& from, const std::string& to, const FinalSeen& seen) {
  try {
    return move_final(from, to, seen) ? End::kPublished : End::kNotOurs;
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "store.taken") << error.detail().where;
    return End::kTaken;
  }
}

TEST_F(MoveFinal, WhereNothingWasOneOfTwoAlwaysPublishes) {
  const Count count = all_schedules(
      Before::kNothing, [&](const auto& from, const auto& seen) { return move(from, to(), seen); });
  EXPECT_GT(count.schedules, 10);
  EXPECT_EQ(count.none, 0);
  EXPECT_EQ(count.both, 0);
  EXPECT_EQ(count.broken, 0);
}

TEST_F(MoveFinal, OfTwoThatReplaceAMatrixOnlyOnePublishes) {
  for (const Before before : {Before::kMatrix, Before::kManifestAlone, Before::kMatrixAlone}) {
    const Count count = all_schedules(
        before, [&](const auto& from, const auto& seen) { return move(from, to(), seen); });
    EXPECT_GT(count.schedules, 50);
    EXPECT_LT(count.none, count.schedules * 3 / 4) << "both may give up";
    EXPECT_EQ(count.both, 0);
    EXPECT_EQ(count.broken, 0);
  }
}

TEST_F(MoveFinal, WithoutHardLinksOnlyOnePublishes) {
  plan_.mode = FaultMode::kErrno;
  plan_.error = EPERM;
  std::snprintf(plan_.call, sizeof plan_.call, "link");
  const Count count = all_schedules(
      Before::kNothing, [&](const auto& from, const auto& seen) { return move(from, to(), seen); });
  EXPECT_GT(count.schedules, 50);
  EXPECT_EQ(count.both, 0);
  EXPECT_EQ(count.broken, 0);
}

// The control: the way in which a merge publishes a part, which its lock protects.
TEST_F(MoveFinal, WithoutItTheResultIsBroken) {
  for (const Before before : {Before::kNothing, Before::kMatrix}) {
    const Count count = all_schedules(before, [&](const auto& from, const auto&) {
      try {
        link_final(from, to());
        return End::kPublished;
      } catch (const Error&) {
        return End::kTaken;
      }
    });
    EXPECT_GT(count.broken, 0);
  }
}

TEST_F(MoveFinal, GivesTheFilesTheirNamesAndDeletesThoseOfTheEarlierMatrix) {
  prepare(Before::kMatrix);
  fs::remove_all(fs::path(from(1)).parent_path());
  make(from(1), 1, /*ledger=*/false);
  const Files made = files_beside(from(1));
  const FinalSeen seen = look_at_final(to());
  EXPECT_TRUE(move_final(from(1), to(), seen));
  EXPECT_EQ(files_beside(to()), made) << "the ledger of the earlier one is gone";
  EXPECT_TRUE(files_beside(from(1)).empty());
  EXPECT_TRUE(files_beside(from(2)).empty()) << "the other attempt cannot publish any more";
  EXPECT_EQ(move(from(2), to(), seen), End::kTaken);
  EXPECT_TRUE(is_whole());
}

TEST_F(MoveFinal, LeavesWhatAnotherRunHasPublishedSince) {
  prepare(Before::kNothing);
  const FinalSeen seen = look_at_final(to());
  ASSERT_TRUE(move_final(from(1), to(), seen));
  const Files published = files_beside(to());
  EXPECT_FALSE(move_final(from(2), to(), seen));
  EXPECT_EQ(files_beside(to()), published);
  EXPECT_FALSE(files_beside(from(2)).empty()) << "it may still publish later";
  EXPECT_TRUE(move_final(from(2), to(), look_at_final(to())));
  EXPECT_TRUE(is_whole());
}

}  // namespace
}  // namespace encode::testing
