#include "plan/cluster_report.h"

#include <cmath>
#include <fmt/format.h>

#include "base/json_values.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "plan/report_lines.h"

namespace encode {
namespace {

std::string bytes_text(double bytes) { return format_bytes(std::llround(bytes)); }

std::string hours_text(const EncodingTime& time) {
  constexpr double kHour = 3600;
  const std::string least = fmt::format("{:.3g}", time.least / kHour);
  const std::string most = fmt::format("{:.3g}", time.most / kHour);
  return least == most ? least : fmt::format("{} to {}", least, most);
}

std::string storage_text(const ClusterPlan& plan) {
  std::string text = fmt::format("reads {}, writes {}", bytes_text(plan.bytes_read),
                                 bytes_text(plan.bytes_written));
  if (plan.needed_bytes_per_second > 0)
    text += fmt::format("; {}/s while the {} work, and it takes {}/s ({})",
                        bytes_text(plan.needed_bytes_per_second), plan.devices_word,
                        bytes_text(plan.storage_bytes_per_second), to_string(plan.storage_basis));
  return text;
}

std::string disk_text(const ClusterPlan& plan) {
  std::string text = fmt::format("{} at most: parts {}, chunks {}", bytes_text(plan.disk_bytes),
                                 bytes_text(plan.part_bytes), bytes_text(plan.chunk_bytes));
  if (plan.one_file_bytes > 0)
    text += fmt::format(", the merge {}", bytes_text(plan.one_file_bytes));
  return text;
}

std::string shards_text(const ClusterPlan& plan) {
  return fmt::format(
      "{} of {} each, the start of {} inside; a shard takes 5 to 30 minutes with {} "
      "to {}",
      format_count(plan.shards), time_text(plan.shard_time), format_duration(plan.start_seconds),
      format_count(plan.fewest_shards), format_count(plan.most_shards));
}

std::string step_text(const ClusterStep& step) {
  const std::string time = step.time.seconds > 0 ? time_text(step.time) : "not known";
  return fmt::format("{} ({}; {})", time, step.limit, to_string(step.basis));
}

std::string next_command(const ClusterPlan& plan, const std::string& config_path) {
  std::vector<std::string> words = {"encode", "shards", "plan"};
  if (!config_path.empty()) words.insert(words.end(), {"--config", config_path});
  words.insert(words.end(), {"--shards", fmt::to_string(plan.shards)});
  return shell_command(words);
}

Json to_json(const ClusterStep& step) {
  return {{"step", step.name},
          {"seconds", known(step.time.seconds)},
          {"seconds_range", range_of(step.time)},
          {"limited_by", step.limit},
          {"basis", to_string(step.basis)}};
}

}  // namespace

std::string render(const ClusterPlan& plan, const std::string& config_path) {
  const std::string kind = plan.devices_word.substr(0, plan.devices_word.size() - 1);
  std::string text = fmt::format(
      "cluster: {} with {}: {}\n", format_count(plan.wish.nodes, "node", "nodes"),
      format_count(plan.wish.gpus, kind + " each", plan.devices_word + " each"), plan.device);
  if (plan.shards == 0) {
    text += report_line("time", "not known, because the speed of the " + plan.devices_word +
                                    " is not: give --tokens-per-second or --bench FILE");
  } else {
    text += report_line("speed", plan.speed_source);
    text += report_line(kind + " hours", hours_text(plan.device_time));
    text += report_line("shards", shards_text(plan));
  }
  text += report_line("storage", storage_text(plan));
  text += report_line("disk", disk_text(plan));
  for (const ClusterStep& step : plan.steps) text += report_line(step.name, step_text(step));
  const ClusterStep* const bottleneck = plan.bottleneck();
  if (bottleneck == nullptr) return text;
  text += report_line("all steps", time_text(plan.time) + ", without the time in queues");
  text += report_line("bottleneck", fmt::format("{}: {}", bottleneck->name, bottleneck->limit));
  return text + report_line("next", next_command(plan, config_path));
}

Json to_json(const ClusterPlan& plan) {
  const ClusterStep* const bottleneck = plan.bottleneck();
  constexpr double kHour = 3600;
  return {{"nodes", plan.wish.nodes},
          {"gpus", plan.wish.gpus},
          {"device", plan.device},
          {"speed", {{"source", plan.speed_source}, {"basis", to_string(plan.speed_basis)}}},
          {"gpu_hours", known(plan.device_time.seconds / kHour)},
          {"gpu_hours_range", range_of({.seconds = plan.device_time.seconds / kHour,
                                        .least = plan.device_time.least / kHour,
                                        .most = plan.device_time.most / kHour})},
          {"shards", plan.shards > 0 ? Json(plan.shards) : Json()},
          {"fewest_shards", plan.shards > 0 ? Json(plan.fewest_shards) : Json()},
          {"most_shards", plan.shards > 0 ? Json(plan.most_shards) : Json()},
          {"shard_seconds", known(plan.shard_time.seconds)},
          {"shard_start_seconds", known(plan.start_seconds)},
          {"storage",
           {{"read_bytes", std::llround(plan.bytes_read)},
            {"written_bytes", std::llround(plan.bytes_written)},
            {"needed_bytes_per_second", known(plan.needed_bytes_per_second)},
            {"bytes_per_second", plan.storage_bytes_per_second},
            {"basis", to_string(plan.storage_basis)}}},
          {"disk",
           {{"peak_bytes", std::llround(plan.disk_bytes)},
            {"part_bytes", std::llround(plan.part_bytes)},
            {"chunk_bytes", std::llround(plan.chunk_bytes)},
            {"merge_bytes", std::llround(plan.one_file_bytes)}}},
          {"steps", array_of(plan.steps, [](const ClusterStep& step) { return to_json(step); })},
          {"seconds", known(plan.time.seconds)},
          {"seconds_range", range_of(plan.time)},
          {"bottleneck", bottleneck == nullptr ? Json() : Json(bottleneck->name)}};
}

}  // namespace encode
