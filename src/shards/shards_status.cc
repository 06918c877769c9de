#include "shards/shards_status.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <tuple>
#include <utility>

#include "encode/error.h"

#include "base/host.h"
#include "base/shell_quote.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_state.h"
#include "shards/attempt.h"
#include "shards/merged_files.h"
#include "shards/part.h"
#include "shards/shard_words.h"
#include "store/audit.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

// An attempt reports every few seconds while it encodes. Loading a model over a network is silent
// for minutes.
constexpr int64_t kSilentSeconds = int64_t{15} * 60;

// The reads of a network file system wait for its server, and not for a processor.
constexpr int64_t kReaders = 16;

// What is found of one shard.
struct FoundShard {
  ShardState state = ShardState::kNotBegun;
  ShardFailure failure = {};  // if `state` is kInterrupted or kFailed
  RunningShard running = {};  // if `state` is kAtWork
  int64_t rows_done = 0;
  std::string config_path = {};  // of its newest attempt; "" if it is not known
  std::vector<std::string> problems = {};
};

// Returns the attempt whose folder was changed last: an attempt replaces its status.json again and
// again. Returns "" if there is none.
std::string newest_attempt(const ShardFiles& files, int64_t shard) {
  std::string newest;
  fs::file_time_type when = fs::file_time_type::min();
  for (const std::string& name : attempts_of(files, shard)) {
    std::error_code ignored;  // a folder that was removed meanwhile is not the newest one
    const fs::file_time_type time =
        fs::last_write_time(attempt_folder(files, shard, name), ignored);
    if (!newest.empty() && time <= when) continue;
    newest = name;
    when = time;
  }
  return newest;
}

ShardFailure failure_of(const RunStatus& status) {
  if (status.state == "failed")
    return {.exit_code = status.exit_code, .code = status.error_code, .what = status.error_what};
  if (status.state == "stopped") return {.what = "stopped by a signal"};
  if (status.state == "done") return {.what = "ended before it published its part"};
  if (status.state == "unknown") return {.what = "its lock cannot be read here"};
  return {.what = "ended without a message"};
}

class StatusReader {
 public:
  explicit StatusReader(const std::string& cache_dir)
      : files_(cache_dir), plan_(read_shard_plan(cache_dir)) {}

  int64_t shards() const { return plan_.shards; }
  const ShardPlan& plan() const { return plan_; }
  // Returns the config that the last attempt at the shard was given; "" if it is not known.
  std::string config_of(int64_t shard) const;
  int64_t rows_of(int64_t shard) const;
  FoundShard read(int64_t shard) const;

 private:
  void read_attempt(int64_t shard, const std::string& folder, FoundShard& found) const;

  ShardFiles files_;
  ShardPlan plan_;
};

int64_t StatusReader::rows_of(int64_t shard) const {
  int64_t rows = 0;
  for (const ShardedStream& stream : plan_.streams)
    rows += stream.shards[static_cast<size_t>(shard)].rows.size();
  return rows;
}

std::string StatusReader::config_of(int64_t shard) const {
  RunStatus status;
  try {
    const std::string attempt = newest_attempt(files_, shard);
    if (attempt.empty()) return "";
    status.cache_dir = attempt_folder(files_, shard, attempt);
    read_run_state(status);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): only the advice has the config
  }
  return status.config_path;
}

FoundShard StatusReader::read(int64_t shard) const {
  FoundShard found;
  try {
    if (!published_attempt(files_, plan_, shard).empty()) {
      found.state = ShardState::kPublished;
      found.rows_done = rows_of(shard);
      return found;
    }
    const std::string attempt = newest_attempt(files_, shard);
    if (!attempt.empty()) read_attempt(shard, attempt_folder(files_, shard, attempt), found);
  } catch (const Error& error) {
    const ErrorDetail& detail = error.detail();
    found.problems.push_back(fmt::format("shard {}: {} ({})", shard, preview(detail.what, 200),
                                         preview(detail.where, 300)));
  }
  return found;
}

// While an attempt works, its status has also the rows that are computed and not saved yet.
void StatusReader::read_attempt(int64_t shard, const std::string& folder, FoundShard& found) const {
  RunStatus status;
  status.cache_dir = folder;
  const ReportedStreams reported = read_run_state(status, kSilentSeconds);
  const bool at_work = status.state == "running";
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    const int64_t rows = plan_.streams[i].shards[static_cast<size_t>(shard)].rows.size();
    const auto said = reported.find(plan_.streams[i].identity.name);
    const bool told = at_work && said != reported.end();
    guarded_read(status, folder, [&] {
      found.rows_done +=
          std::min(rows, told ? said->second.rows_computed
                              : logged_rows(folder, plan_.identity(i, shard)).value_or(0));
    });
  }
  found.config_path = status.config_path;
  found.problems = status.problems;
  if (at_work) {
    found.state = ShardState::kAtWork;
    found.running = {.shard = shard,
                     .folder = folder,
                     .host = status.lock.host,
                     .rows = rows_of(shard),
                     .rows_done = found.rows_done,
                     .rows_per_second = status.rows_per_second,
                     .seconds_left = status.seconds_left};
    return;
  }
  found.state = status.state == "failed" ? ShardState::kFailed : ShardState::kInterrupted;
  found.failure = failure_of(status);
}

// Adds a shard to the failures of the same cause.
void add_failure(const ShardFailure& failure, int64_t shard, std::vector<ShardFailure>& failures) {
  const auto key = [](const ShardFailure& one) {
    // An error has other texts for other rows; what has no code is told apart by its text.
    return std::tuple(one.exit_code, one.code, one.code.empty() ? one.what : "");
  };
  auto place = std::ranges::find_if(
      failures, [&](const ShardFailure& other) { return key(other) == key(failure); });
  if (place == failures.end()) place = failures.insert(failures.end(), failure);
  place->shards.push_back(shard);
}

}  // namespace

std::vector<int64_t> ShardsStatus::shards_in(ShardState state) const {
  std::vector<int64_t> found;
  for (size_t shard = 0; shard < states.size(); ++shard) {
    if (states[shard] == state) found.push_back(static_cast<int64_t>(shard));
  }
  return found;
}

std::vector<int64_t> ShardsStatus::missing() const {
  std::vector<int64_t> found;
  for (size_t shard = 0; shard < states.size(); ++shard) {
    if (states[shard] != ShardState::kPublished) found.push_back(static_cast<int64_t>(shard));
  }
  return found;
}

double ShardsStatus::rows_per_second() const {
  double sum = 0;
  for (const RunningShard& shard : running) sum += shard.rows_per_second;
  return sum;
}

double ShardsStatus::seconds_left() const {
  const double rate = rows_per_second();
  if (rate <= 0) return -1;
  double seconds = static_cast<double>(rows - rows_done) / rate;
  for (const RunningShard& shard : running) seconds = std::max(seconds, shard.seconds_left);
  return seconds;
}

const RunningShard* ShardsStatus::slowest() const {
  const RunningShard* found = nullptr;
  for (const RunningShard& shard : running) {
    if (shard.rows_per_second <= 0) continue;
    if (found == nullptr || shard.rows_per_second < found->rows_per_second) found = &shard;
  }
  return found;
}

std::string ShardsStatus::advice() const {
  std::vector<int64_t> idle;
  for (const int64_t shard : missing()) {
    if (states[static_cast<size_t>(shard)] != ShardState::kAtWork) idle.push_back(shard);
  }
  if (!merged.empty()) {
    std::vector<std::string> verify = {"encode", "verify"};
    verify.insert(verify.end(), merged.begin(), merged.end());
    return fmt::format("Nothing is left to do; to check the merged rows: {}",
                       shell_command(verify));
  }
  if (missing().empty())
    return fmt::format("All shards are published. If they are not merged yet: {}",
                       merge_command(config_path));
  if (idle.empty())
    return fmt::format("Wait: {} at work.",
                       format_count(std::ssize(running), "missing shard is", "missing shards are"));
  constexpr auto kTempFail = static_cast<int64_t>(ExitCode::kTempFail);
  const bool has_cause = std::ranges::any_of(failures, [](const ShardFailure& failure) {
    return failure.exit_code != 0 && failure.exit_code != kTempFail;
  });
  return fmt::format("{} {} (sbatch --array takes these numbers): {}",
                     has_cause ? "Remove the cause of the failures, then run shards" : "Run shards",
                     ranges_of_shards(idle),
                     shard_command(config_path, idle.front(), std::ssize(states)));
}

std::string ShardsStatus::state() const {
  if (!running.empty()) return "running";
  return missing().empty() ? "done" : "incomplete";
}

bool has_shard_plan(const std::string& cache_dir) {
  std::error_code ignored;  // the command reports why it cannot look at the directory
  return !cache_dir.empty() && fs::exists(ShardFiles(cache_dir).plan(), ignored);
}

ShardsStatus read_shards_status(const std::string& cache_dir, const std::string& config_path) {
  const StatusReader reader(cache_dir);
  std::vector<FoundShard> shards(static_cast<size_t>(reader.shards()));
  share_calls(reader.shards(), kReaders,
              [&](int64_t shard) { shards[static_cast<size_t>(shard)] = reader.read(shard); });
  ShardsStatus status = {.cache_dir = cache_dir, .config_path = config_path};
  for (int64_t shard = 0; shard < reader.shards(); ++shard) {
    FoundShard& found = shards[static_cast<size_t>(shard)];
    status.states.push_back(found.state);
    status.rows += reader.rows_of(shard);
    status.rows_done += found.rows_done;
    if (found.state == ShardState::kAtWork) status.running.push_back(std::move(found.running));
    if (found.state == ShardState::kFailed || found.state == ShardState::kInterrupted)
      add_failure(found.failure, shard, status.failures);
    if (status.config_path.empty()) status.config_path = found.config_path;
    status.problems.insert(status.problems.end(), found.problems.begin(), found.problems.end());
  }
  const std::vector<int64_t> published = status.shards_in(ShardState::kPublished);
  if (std::ssize(published) == reader.shards())
    status.merged = merged_files(cache_dir, reader.plan());
  if (status.config_path.empty() && !published.empty())
    status.config_path = reader.config_of(published.front());
  std::ranges::stable_sort(status.failures, std::greater(),
                           [](const ShardFailure& failure) { return failure.shards.size(); });
  return status;
}

void read_shards_below(RunStatus& status) {
  for (RunBelow& run : status.runs) {
    if (!has_shard_plan(run.path)) continue;
    try {
      const ShardsStatus shards = read_shards_status(run.path, "");
      run.state = shards.state();
      run.rows = shards.rows;
      run.rows_done = shards.rows_done;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): its own status says what is wrong
    }
  }
}

}  // namespace encode
