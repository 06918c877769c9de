#include "plan/plan_report.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/units.h"
#include "run_plan/memory/chunk_rows.h"

namespace encode {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string percent(int64_t part, int64_t whole) {
  return whole <= 0 ? "" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

// "12.3 s", or "10.0 s to 60.0 s" if the rate is not measured; "" if it is not known.
std::string time_text(const EncodingTime& time) {
  if (time.seconds <= 0) return "";
  const std::string least = format_duration(time.least);
  const std::string most = format_duration(time.most);
  return least == most ? least : fmt::format("{} to {}", least, most);
}

std::string known_time(const EncodingTime& time) {
  return time.seconds > 0 ? time_text(time) : "not known";
}

std::string line(const std::string& name, const std::string& value) {
  return fmt::format("  {:<18} {}\n", name, value);
}

std::string render_device(const PlannedDevice& device) {
  const MemoryRoom& room = device.room;
  std::string text =
      fmt::format("{}{}: {} of memory, {} free\n", device.name,
                  device.place.empty() || device.place == "cpu" ? "" : " (" + device.place + ")",
                  format_bytes(room.total_bytes), format_bytes(room.free_bytes));
  for (const std::string& user : device.users) text += line("in use", user);
  for (const std::string& note : device.notes) text += line("note", note);
  if (room.correction != 1)
    text += line("correction",
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
  text +=
      fmt::format("  {:<22}{:>12}{:>9}  {:.0f} % of the {} that are free\n", "limit",
                  format_bytes(room.usable_bytes()), percent(room.usable_bytes(), room.total_bytes),
                  100 * room.safety_margin, format_bytes(room.free_bytes));
  return text;
}

std::string render_prices(const PlannedStream& stream) {
  std::string text = fmt::format("  other choices{:>31}{:>25}\n", "memory", "time");
  for (const Price& price : stream.prices) {
    text += fmt::format("  {:<32}{:>12}{:>25}  {}\n", price.choice,
                        format_bytes(price.memory_bytes), time_text(price.time), price.note);
  }
  return text;
}

std::string render_texts(const PlannedStream& stream) {
  const TextFacts& texts = stream.request.texts;
  if (stream.survey.sample.empty()) {
    return line("texts", fmt::format("none are given: {} of {} tokens, the longest possible; "
                                     "--input plans for your texts, --rows for another number",
                                     format_count(texts.rows, "row", "rows"),
                                     format_count(texts.longest_row_tokens)));
  }
  std::string text =
      fmt::format("{}, about {} ({} a row), longest {}", format_count(texts.rows, "row", "rows"),
                  format_count(texts.tokens, "token", "tokens"),
                  format_count(texts.tokens / std::max<int64_t>(1, texts.rows)),
                  format_count(stream.request.longest_row_tokens()));
  if (stream.survey.stride > 1)
    text += fmt::format("; {} tokenized",
                        format_count(std::ssize(stream.survey.sample), "row was", "rows were"));
  if (stream.survey.truncated_share > 0)
    text += fmt::format("; {} are cut", percent(stream.survey.truncated_share));
  return line("texts", text);
}

std::string render_settings(const PlannedStream& stream, const MemoryRoom& room) {
  const PlannedBatch& planned = stream.planned;
  std::string text = line("batch_tokens", fmt::format("{}  ({})", planned.batches.budget_tokens,
                                                      to_string(planned.limit)));
  text += line("batch_size", fmt::format("{}  (rows of {} tokens)", planned.batch_size,
                                         format_count(stream.request.effective.max_length)));
  if (stream.micro.batches > 0) {
    text += line("a step of " + format_count(stream.micro.rows),
                 fmt::format("{} of at most {}",
                             format_count(stream.micro.batches, "micro-batch", "micro-batches"),
                             format_count(stream.micro.batch_rows, "row", "rows")));
  }
  text += line("chunk_size", fmt::format("{}  ({})", stream.chunk_rows,
                                         describe_loss(stream.lost_rows, stream.lost_seconds())));
  if (room.kind == DeviceKind::kCpu) text += line("threads", fmt::to_string(planned.threads));
  text += line("padding",
               stream.survey.sample.empty()
                   ? "none: 0 % waste"
                   : fmt::format("none: 0 % waste; longest would compute {:.2f} times as many "
                                 "tokens, max_length {:.2f} times",
                                 stream.padding.longest, stream.padding.max_length));
  return text + line("time", fmt::format("{} ({})", known_time(stream.time),
                                         stream.rate.source.empty()
                                             ? "--profile or --gpu NAME would tell the rate"
                                             : stream.rate.source));
}

std::string render(const DevicePlan& plan) {
  std::string text = render_device(plan.device);
  for (const PlannedStream& stream : plan.streams) {
    text += fmt::format("\n{} with {}, {}\n", stream.name, preview(stream.model_path, 200),
                        stream.dtype);
    text += render_texts(stream) + render_settings(stream, plan.device.room);
  }
  const PlannedStream& largest = plan.largest();
  text += "\n" + render_memory(largest, plan.device.room);
  if (plan.host_bytes > 0) text += line("host memory", format_bytes(plan.host_bytes));
  return text + "\n" + render_prices(largest) + "\n";
}

Json known(double value) { return value > 0 ? Json(value) : Json(); }

// [least, most], or null if the time is not known.
Json range(const EncodingTime& time) {
  return time.seconds > 0 ? Json{time.least, time.most} : Json();
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
          {"seconds_range", range(price.time)},
          {"note", price.note}};
}

Json to_json(const PlannedStream& stream) {
  const TextFacts& texts = stream.request.texts;
  Json prices = Json::array();
  for (const Price& price : stream.prices) prices.push_back(to_json(price));
  Json json = {
      {"stream", stream.name},
      {"model", stream.model_path},
      {"dtype", stream.dtype},
      {"rows", texts.rows},
      {"tokens", texts.tokens},
      {"longest_row_tokens", stream.request.longest_row_tokens()},
      {"sampled_rows", stream.survey.sample.size()},
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
      {"seconds_range", range(stream.time)},
      {"rate",
       {{"flops_per_second", known(stream.rate.flops_per_second)},
        {"measured", stream.rate.measured},
        {"source", stream.rate.source}}},
      {"padding", {{"longest", stream.padding.longest}, {"max_length", stream.padding.max_length}}},
      {"prices", prices}};
  if (stream.micro.batches > 0)
    json["micro_batches"] = {{"rows", stream.micro.rows},
                             {"batches", stream.micro.batches},
                             {"batch_rows", stream.micro.batch_rows}};
  return json;
}

Json to_json(const DevicePlan& plan) {
  const PlannedDevice& device = plan.device;
  Json streams = Json::array();
  for (const PlannedStream& stream : plan.streams) streams.push_back(to_json(stream));
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
          {"seconds_range", range(plan.time)},
          {"streams", streams},
          {"notes", device.notes}};
}

}  // namespace

std::string render(const ExperimentPlan& plan) {
  std::string text;
  for (const DevicePlan& device : plan.devices) text += render(device);
  text += "experiment\n";
  if (plan.devices.size() > 1) {
    int64_t bytes = 0;
    for (const DevicePlan& device : plan.devices)
      bytes += device.largest().planned.memory.total_bytes();
    text += line("all devices", fmt::format("{} devices, {} of their memory", plan.devices.size(),
                                            format_bytes(bytes)));
  }
  text += line("time",
               known_time(plan.time) + (plan.devices.size() > 1 ? " on all devices together" : ""));
  if (plan.disk.peak.total() > 0) {
    text += line("disk", describe(plan.disk.peak) + ", at once");
    text += line("", fmt::format("{} free in {}", format_bytes(plan.space.usable_bytes),
                                 preview(plan.space.path, 200)));
  }
  for (const PlannedSetting& setting : plan.settings) text += line(setting.key, setting.value);
  for (const std::string& note : plan.notes) text += line("note", note);
  return text;
}

std::string render(const ProfileResult& profile) {
  const double ratio = static_cast<double>(profile.measured_bytes) /
                       static_cast<double>(std::max<int64_t>(1, profile.estimated_bytes));
  std::string text =
      fmt::format("\nprofile: {}, {} on {}\n", format_count(profile.rows, "row", "rows"),
                  format_count(profile.tokens, "token", "tokens"), profile.device);
  text += line("memory", fmt::format("estimated {}, measured {} ({:+.1f} %)",
                                     format_bytes(profile.estimated_bytes),
                                     format_bytes(profile.measured_bytes), 100 * (ratio - 1)));
  constexpr double kTera = 1e12;
  text += line("rate",
               fmt::format("{} tokens/s, {:.3f} TFLOP/s", format_rate(profile.tokens_per_second),
                           profile.flops_per_second / kTera));
  if (!profile.stored.empty()) text += line("kept in", profile.stored);
  return text;
}

Json to_json(const ExperimentPlan& plan) {
  Json devices = Json::array();
  for (const DevicePlan& device : plan.devices) devices.push_back(to_json(device));
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
  return {{"devices", devices},
          {"seconds", known(plan.time.seconds)},
          {"seconds_range", range(plan.time)},
          {"disk", disk},
          {"settings", settings},
          {"notes", plan.notes}};
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
