#include "plan/plan_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <vector>

#include "base/aligned.h"
#include "base/json_values.h"
#include "base/units.h"
#include "base/wrap_text.h"
#include "config/schema.h"
#include "plan/cluster_report.h"
#include "plan/report_lines.h"
#include "run_plan/memory/chunk_rows.h"

namespace encode {
namespace {

// The columns before the value of a line, and before the arithmetic of a part of the memory.
constexpr size_t kValueColumn = 21;
constexpr size_t kWhyColumn = 47;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string percent(int64_t part, int64_t whole) {
  return whole <= 0 ? "" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

std::string render_device(const PlannedDevice& device) {
  const MemoryRoom& room = device.room;
  std::string text =
      fmt::format("{}{}: {} of memory, {} free\n", device.name,
                  device.place.empty() || device.place == "cpu" ? "" : " (" + device.place + ")",
                  format_bytes(room.total_bytes), format_bytes(room.free_bytes));
  for (const std::string& user : device.users) text += report_line("in use", user);
  for (const std::string& note : device.notes) text += report_line("note", note);
  if (room.correction != 1)
    text += report_line("correction",
                        fmt::format("estimates x {:.2f}, measured by --profile", room.correction));
  return text;
}

std::string render_memory(const PlannedStream& stream, const MemoryRoom& room) {
  std::string text = fmt::format("  where the memory goes ({})\n  {:<22}{:>12}{:>9}\n", stream.name,
                                 "part", "bytes", "share");
  for (const MemoryPart& part : stream.planned.memory.parts) {
    if (part.bytes == 0) continue;
    text += fmt::format("  {:<22}{:>12}{:>9}  {}\n", to_string(part.kind), format_bytes(part.bytes),
                        percent(part.bytes, room.total_bytes), part.why);
  }
  const int64_t total = stream.planned.memory.total_bytes();
  text += fmt::format("  {:<22}{:>12}{:>9}  of {}\n", "total", format_bytes(total),
                      percent(stream.planned.share), format_bytes(room.total_bytes));
  text += fmt::format("  {:<22}{:>12}{:>9}  {}\n", "limit", format_bytes(room.usable_bytes()),
                      percent(room.usable_bytes(), room.total_bytes), usable_text(room));
  return text;
}

// Renders a table of the choices, without a column of times if none is known. A note that does not
// fit into its line gets a line of its own. `columns` is the width of the terminal; 0: no limit.
std::string render_prices(const PlannedStream& stream, size_t columns) {
  const bool timed = std::any_of(stream.prices.begin(), stream.prices.end(),
                                 [](const Price& price) { return price.time.seconds > 0; });
  std::vector<TableRow> rows = {{"  other choices", "memory"}};
  if (timed) rows.front().emplace_back("time");
  for (const Price& price : stream.prices) {
    TableRow& row = rows.emplace_back();
    row = {"  " + price.choice, format_bytes(price.memory_bytes)};
    if (timed) row.push_back(time_text(price.time));
  }
  std::istringstream lines(aligned(rows));
  std::string text;
  std::string row;
  std::getline(lines, text);
  const size_t width = text.size();
  text += '\n';
  for (const Price& price : stream.prices) {
    std::getline(lines, row);
    row.resize(price.note.empty() ? row.size() : width, ' ');
    const bool fits = columns == 0 || row.size() + 2 + price.note.size() <= columns;
    text += row;
    if (!price.note.empty()) text.append(fits ? "  " : "\n      ").append(price.note);
    text += '\n';
  }
  return text;
}

std::string render_texts(const PlannedStream& stream) {
  const TextFacts& texts = stream.request.texts;
  if (stream.survey.sample.empty()) {
    return report_line("texts",
                       fmt::format("none are given: {} of {} tokens, the longest possible; "
                                   "--input plans for your texts, --rows for another number",
                                   format_count(texts.rows, "row", "rows"),
                                   format_count(texts.longest_row_tokens)));
  }
  std::string text = format_count(texts.rows, "row", "rows");
  if (texts.passages > 0)
    text += fmt::format(", about {}", format_count(texts.passages, "passage", "passages"));
  text += fmt::format(
      ", about {} ({} a {}), longest {}", format_count(texts.tokens, "token", "tokens"),
      format_count(texts.tokens / std::max<int64_t>(1, texts.sequences())),
      stream.request.effective.sequence_name(), format_count(stream.request.longest_row_tokens()));
  if (stream.survey.stride > 1)
    text += fmt::format("; {} tokenized",
                        format_count(stream.survey.sampled_rows, "row was", "rows were"));
  if (stream.survey.truncated_share > 0)
    text += fmt::format("; {} are cut", percent(stream.survey.truncated_share));
  return report_line("texts", text);
}

// Returns the host memory of a plan for a GPU, with its limit.
std::string host_memory_text(const DevicePlan& plan) {
  std::string text = format_bytes(plan.host_bytes);
  if (plan.host_limit.bytes > 0) text += "; the limit is " + describe(plan.host_limit);
  return text;
}

// Says why the time of a stream is not known.
std::string without_time(const PlannedDevice& device) {
  if (device.place.empty())
    return "not known, because its memory does not tell how fast a GPU is; --gpu NAME plans for a "
           "card whose speed is known";
  return "not known, because no data sheet of this GPU is built in; --profile measures its speed";
}

std::string render_settings(const PlannedStream& stream, const PlannedDevice& device) {
  const PlannedBatch& planned = stream.planned;
  std::string text =
      report_line("batch_tokens",
                  fmt::format("{}  ({})", planned.batches.budget_tokens, to_string(planned.limit)));
  text += report_line("batch_size", fmt::format("{}  (rows of {} tokens)", planned.batch_size,
                                                format_count(stream.request.effective.max_length)));
  if (!stream.batch_note.empty()) text += report_line("note", stream.batch_note);
  if (stream.micro.batches > 0) {
    text +=
        report_line("a step of " + format_count(stream.micro.rows),
                    fmt::format("{} of at most {}",
                                format_count(stream.micro.batches, "micro-batch", "micro-batches"),
                                format_count(stream.micro.batch_rows, "row", "rows")));
  }
  if (stream.chunks_known)
    text += report_line("chunk_size",
                        fmt::format("{}  ({})", stream.chunk_rows,
                                    describe_loss(stream.lost_rows, stream.lost_seconds())));
  if (device.room.kind == DeviceKind::kCpu)
    text += report_line("threads", fmt::to_string(planned.threads));
  text += report_line(
      "padding", stream.survey.sample.empty()
                     ? "none: 0 % waste"
                     : fmt::format("none: 0 % waste; longest would compute {:.2f} times as many "
                                   "tokens, max_length {:.2f} times",
                                   stream.padding.longest, stream.padding.max_length));
  const bool known = stream.time.seconds > 0;
  return text + report_line("time", known ? fmt::format("{} ({})", time_text(stream.time),
                                                        stream.rate.source)
                                          : without_time(device));
}

// Breaks the lines of `text` at `columns`; 0: they stay as they are.
std::string broken(const std::string& text, size_t columns, size_t indent) {
  return columns > kWhyColumn ? wrap_text(text, columns, indent) : text;
}

std::string render(const DevicePlan& plan, size_t columns) {
  std::string text = broken(render_device(plan.device), columns, kValueColumn);
  for (const PlannedStream& stream : plan.streams) {
    const std::string path = preview(stream.model_path, 200);
    text += broken(fmt::format("\n{} with {}, {}\n", stream.name,
                               columns > 0 ? shorten(path, columns - 3) : path, stream.dtype),
                   columns, 2);
    text +=
        broken(render_texts(stream) + render_settings(stream, plan.device), columns, kValueColumn);
  }
  const PlannedStream& largest = plan.largest();
  text += "\n" + broken(render_memory(largest, plan.device.room), columns, kWhyColumn);
  if (plan.host_bytes > 0) text += report_line("host memory", host_memory_text(plan));
  return text + "\n" + render_prices(largest, columns) + "\n";
}

// Lists the settings as lines of a config, or as flags for the command line.
std::string render_advice(const ExperimentPlan& plan) {
  if (!plan.config_path.empty()) {
    std::string text;
    for (const PlannedSetting& setting : plan.settings)
      text += report_line(setting.key, setting.value);
    return text;
  }
  std::string flags;
  for (const PlannedSetting& setting : plan.settings)
    flags += (flags.empty() ? "" : " ") + spelled_setting(setting.key, setting.value, true);
  return report_line("for the run", flags);
}

Json to_json(const MemoryEstimate& memory) {
  Json parts = Json::array();
  for (const MemoryPart& part : memory.parts)
    parts.push_back({{"part", to_string(part.kind)}, {"bytes", part.bytes}, {"why", part.why}});
  return {{"parts", parts}, {"total_bytes", memory.total_bytes()}};
}

Json to_json(const Price& price) {
  return {{"choice", price.choice},
          {"memory_bytes", price.memory_bytes},
          {"seconds", known(price.time.seconds)},
          {"seconds_range", range_of(price.time)},
          {"note", price.note}};
}

Json to_json(const PlannedStream& stream) {
  const TextFacts& texts = stream.request.texts;
  Json json = {
      {"stream", stream.name},
      {"model", stream.model_path},
      {"dtype", stream.dtype},
      {"rows", texts.rows},
      {"tokens", texts.tokens},
      {"longest_row_tokens", stream.request.longest_row_tokens()},
      {"sampled_rows", stream.survey.sampled_rows},
      {"truncated_share", stream.survey.truncated_share},
      {"batch_tokens", stream.planned.batches.budget_tokens},
      {"batch_size", stream.planned.batch_size},
      {"threads", stream.planned.threads},
      {"chunk_size", stream.chunk_rows},
      {"lost_rows", stream.lost_rows},
      {"lost_seconds", known(stream.lost_seconds())},
      {"limited_by", to_string(stream.planned.limit)},
      {"memory", to_json(stream.planned.memory)},
      {"memory_share", stream.planned.share},
      {"seconds", known(stream.time.seconds)},
      {"seconds_range", range_of(stream.time)},
      {"rate",
       {{"flops_per_second", known(stream.rate.flops_per_second)},
        {"tokens_per_second", known(stream.rate.tokens_per_second)},
        {"measured", stream.rate.measured},
        {"source", stream.rate.source}}},
      {"padding", {{"longest", stream.padding.longest}, {"max_length", stream.padding.max_length}}},
      {"prices", array_of(stream.prices, [](const Price& price) { return to_json(price); })}};
  if (texts.passages > 0) json["passages"] = texts.passages;
  if (!stream.batch_note.empty()) json["batch_note"] = stream.batch_note;
  if (stream.micro.batches > 0)
    json["micro_batches"] = {{"rows", stream.micro.rows},
                             {"batches", stream.micro.batches},
                             {"batch_rows", stream.micro.batch_rows}};
  return json;
}

Json to_json(const DevicePlan& plan) {
  const PlannedDevice& device = plan.device;
  return {{"device", device.name},
          {"place", device.place},
          {"total_bytes", device.room.total_bytes},
          {"free_bytes", device.room.free_bytes},
          {"safety_margin", device.room.safety_margin},
          {"usable_bytes", device.room.usable_bytes()},
          {"correction", device.room.correction},
          {"in_use", device.users},
          {"host_bytes", plan.host_bytes},
          {"seconds", known(plan.time.seconds)},
          {"seconds_range", range_of(plan.time)},
          {"streams",
           array_of(plan.streams, [](const PlannedStream& stream) { return to_json(stream); })},
          {"notes", device.notes}};
}

}  // namespace

std::string render(const ExperimentPlan& plan, size_t columns) {
  std::string text;
  for (const DevicePlan& device : plan.devices) text += render(device, columns);
  std::string whole = "experiment\n";
  if (plan.devices.size() > 1) {
    int64_t bytes = 0;
    for (const DevicePlan& device : plan.devices)
      bytes += device.largest().planned.memory.total_bytes();
    whole += report_line("all devices", fmt::format("{} devices, {} of their memory",
                                                    plan.devices.size(), format_bytes(bytes)));
  }
  if (plan.time.seconds > 0)
    whole += report_line(
        "time", time_text(plan.time) + (plan.devices.size() > 1 ? " on all devices together" : ""));
  if (plan.disk.peak.total() > 0) {
    whole += report_line("disk", describe(plan.disk.peak) + ", at once");
    whole += report_line("", fmt::format("{} free in {}", format_bytes(plan.space.usable_bytes),
                                         preview(plan.space.path, 200)));
  }
  whole += render_advice(plan);
  for (const std::string& note : plan.notes) whole += report_line("note", note);
  if (plan.cluster) whole += "\n" + render(*plan.cluster, plan.config_path);
  return text + broken(whole, columns, kValueColumn);
}

std::string render(const ProfileResult& profile, size_t columns) {
  const double ratio = static_cast<double>(profile.measured_bytes) /
                       static_cast<double>(std::max<int64_t>(1, profile.estimated_bytes));
  std::string text =
      fmt::format("\nprofile: {}, {} on {}\n", format_count(profile.rows, "row", "rows"),
                  format_count(profile.tokens, "token", "tokens"), profile.device);
  text +=
      report_line("memory", fmt::format("estimated {}, measured {} ({:+.1f} %)",
                                        format_bytes(profile.estimated_bytes),
                                        format_bytes(profile.measured_bytes), 100 * (ratio - 1)));
  text += report_line(
      "rate", fmt::format("{} tokens/s, {:.3f} TFLOP/s", format_rate(profile.tokens_per_second),
                          profile.flops_per_second / kTera));
  if (!profile.stored.empty()) text += report_line("kept in", profile.stored);
  return broken(text, columns, kValueColumn);
}

Json to_json(const ExperimentPlan& plan) {
  Json settings = Json::object();
  for (const PlannedSetting& setting : plan.settings) settings[setting.key] = setting.value;
  Json disk;
  const DiskParts& peak = plan.disk.peak;
  if (peak.total() > 0) {
    disk = {{"chunk_bytes", peak.chunk_bytes},
            {"float32_bytes", peak.float32_bytes},
            {"final_bytes", peak.final_bytes},
            {"combined_bytes", peak.combined_bytes},
            {"record_bytes", peak.record_bytes},
            {"existing_bytes", peak.existing_bytes},
            {"peak_bytes", peak.total()},
            {"largest_file_bytes", plan.disk.largest_file_bytes},
            {"free_bytes", plan.space.usable_bytes},
            {"path", plan.space.path}};
  }
  Json json = {
      {"devices", array_of(plan.devices, [](const DevicePlan& device) { return to_json(device); })},
      {"seconds", known(plan.time.seconds)},
      {"seconds_range", range_of(plan.time)},
      {"disk", disk},
      {"settings", settings},
      {"notes", plan.notes}};
  if (plan.cluster) json["cluster"] = to_json(*plan.cluster);
  return json;
}

Json to_json(const ProfileResult& profile) {
  return {{"device", profile.device},
          {"rows", profile.rows},
          {"tokens", profile.tokens},
          {"estimated_bytes", profile.estimated_bytes},
          {"measured_bytes", profile.measured_bytes},
          {"tokens_per_second", profile.tokens_per_second},
          {"flops_per_second", profile.flops_per_second},
          {"stored", profile.stored}};
}

}  // namespace encode
