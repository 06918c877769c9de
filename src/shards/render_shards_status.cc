#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "shards/shard_words.h"
#include "shards/shards_status.h"

namespace encode {
namespace {

struct StateName {
  ShardState state;
  const char* key;    // in JSON
  const char* words;  // for people
};
constexpr std::array<StateName, 5> kStateNames = {
    {{ShardState::kPublished, "published", "published"},
     {ShardState::kAtWork, "at_work", "at work"},
     {ShardState::kInterrupted, "interrupted", "interrupted"},
     {ShardState::kFailed, "failed", "failed"},
     {ShardState::kNotBegun, "not_begun", "not begun"}}};

// Shows the first problems only: a file system that is away gives one for each shard.
constexpr size_t kShownProblems = 8;

// "7 published, 1 at work, 2 not begun"
std::string counted_states(const ShardsStatus& status) {
  std::vector<std::string> parts;
  for (const StateName& name : kStateNames) {
    const auto count = std::ssize(status.shards_in(name.state));
    if (count > 0 || name.state == ShardState::kPublished)
      parts.push_back(fmt::format("{} {}", format_count(count), name.words));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string line_of(const RunningShard& shard) {
  std::string text =
      fmt::format("slowest   shard {} on {}: {} rows/s, {} of {}", shard.shard, preview(shard.host),
                  format_rate(shard.rows_per_second), format_count(shard.rows_done),
                  format_count(shard.rows, "row", "rows"));
  if (shard.seconds_left >= 0)
    text += fmt::format(", {} left", format_duration(shard.seconds_left));
  return text + fmt::format("\n          {}\n", preview(shard.folder, 300));
}

// Returns the ranges, cut if they are many; the JSON has all of them.
std::string short_ranges(const std::vector<int64_t>& shards) {
  constexpr size_t kMostBytes = 120;
  std::string text = ranges_of_shards(shards);
  if (text.size() <= kMostBytes) return text;
  return fmt::format("{},... ({} in all)", text.substr(0, text.rfind(',', kMostBytes)),
                     format_count(std::ssize(shards)));
}

std::string line_of(const ShardFailure& failure) {
  std::string text = "  ";
  if (failure.exit_code != 0) text += fmt::format("exit code {} ", failure.exit_code);
  if (!failure.code.empty()) text += fmt::format("[{}] ", preview(failure.code));
  return text + fmt::format("{}: {} {}\n", preview(failure.what, 200),
                            failure.shards.size() == 1 ? "shard" : "shards",
                            short_ranges(failure.shards));
}

Json to_json(const ShardFailure& failure) {
  return {{"exit_code", failure.exit_code},
          {"code", failure.code},
          {"what", failure.what},
          {"count", failure.shards.size()},
          {"shards", ranges_of_shards(failure.shards)}};
}

Json to_json(const RunningShard& shard) {
  return {{"shard", shard.shard},
          {"attempt", shard.folder},
          {"host", shard.host},
          {"rows", shard.rows},
          {"rows_done", shard.rows_done},
          {"rows_per_second", shard.rows_per_second},
          {"seconds_left", shard.seconds_left}};
}

}  // namespace

std::string render_text(const ShardsStatus& status) {
  const double share = status.rows > 0 ? 100.0 * static_cast<double>(status.rows_done) /
                                             static_cast<double>(status.rows)
                                       : 100.0;
  std::string text = fmt::format(
      "plan      {}, {}\n"
      "shards    {}\n"
      "rows      {:.1f}%, {} of {}\n",
      preview(ShardFiles(status.cache_dir).plan(), 300),
      format_count(std::ssize(status.states), "shard", "shards"), counted_states(status), share,
      format_count(status.rows_done), format_count(status.rows, "row", "rows"));
  if (status.rows_per_second() > 0) {
    text += fmt::format("rate      {} rows/s in {}, {} left with as many\n",
                        format_rate(status.rows_per_second()),
                        format_count(std::ssize(status.running), "attempt", "attempts"),
                        format_duration(status.seconds_left()));
  }
  if (const RunningShard* slowest = status.slowest()) text += line_of(*slowest);
  if (!status.failures.empty()) text += "ended\n";
  for (const ShardFailure& failure : status.failures) text += line_of(failure);
  if (!status.missing().empty())
    text += fmt::format("missing   {}\n", ranges_of_shards(status.missing()));
  const size_t shown = std::min(kShownProblems, status.problems.size());
  for (size_t i = 0; i < shown; ++i) text += fmt::format("problem   {}\n", status.problems[i]);
  if (shown < status.problems.size())
    text += fmt::format("problem   and {} more\n", status.problems.size() - shown);
  return text + fmt::format("next      {}\n", status.advice());
}

std::string render_json(const ShardsStatus& status) {
  Json failures = Json::array();
  for (const ShardFailure& failure : status.failures) failures.push_back(to_json(failure));
  const RunningShard* slowest = status.slowest();
  Json json = {{"cache_dir", status.cache_dir},
               {"state", status.state()},
               {"shards", status.states.size()},
               {"rows", status.rows},
               {"rows_done", status.rows_done},
               {"rows_per_second", status.rows_per_second()},
               {"seconds_left", status.seconds_left()},
               {"failures", std::move(failures)},
               {"slowest", slowest == nullptr ? Json() : to_json(*slowest)},
               {"missing", ranges_of_shards(status.missing())},
               {"config", status.config_path},
               {"merged", status.merged},
               {"problems", status.problems},
               {"next", status.advice()}};
  for (const StateName& name : kStateNames) json[name.key] = status.shards_in(name.state).size();
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace encode
