#include "run_record/memory_log.h"

#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/json_values.h"
#include "base/units.h"
#include "run_record/stage_report.h"
#include "store/layout.h"

namespace encode {
namespace {

// A record has about 600 bytes. At one sample a minute, one file holds almost five days; at one
// every ten seconds, as on a GPU, 19 hours.
RecordFileKind memory_records() { return {.name = "memory", .max_bytes = 4 << 20}; }

MemorySample sample_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, "records.damaged");
  const auto number = [&](const char* key) { return fields.integer(key, 0, kMaxInteger); };
  constexpr int64_t kUnknown = -1;
  const auto known = [&](const char* key) {
    return fields.integer_or(key, kUnknown, kUnknown, kMaxInteger);
  };
  StageSeconds stages;
  if (fields.has("stages"))
    stages = stage_seconds_from(JsonFields(fields.object("stages"), where, "records.damaged"));
  return {.time = number("time"),
          .milliseconds = fields.integer_or("milliseconds", 0, 0, 999),
          .worker_bytes = number("worker_bytes"),
          .host_available_bytes = number("host_available_bytes"),
          .host_limit_bytes = number("host_limit_bytes"),
          .device = {.allocated_bytes = number("device_allocated_bytes"),
                     .reserved_bytes = number("device_reserved_bytes"),
                     .peak_allocated_bytes = number("device_peak_bytes"),
                     .total_bytes = number("device_total_bytes")},
          .gpu = {.used_bytes = known("gpu_used_bytes"),
                  .total_bytes = known("gpu_total_bytes"),
                  .utilization_percent = known("gpu_utilization_percent"),
                  .temperature_celsius = known("gpu_temperature_celsius")},
          .pressed = fields.boolean_or("pressed", false),
          .tokens_per_second = fields.number_or("tokens_per_second", 0, 0, kMaxRecordedRate),
          .tokens = known("tokens"),
          .stages = stages};
}

GpuWarning warning_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, "records.damaged");
  return {.trouble = named_value(fields, "warning", kGpuTroubles),
          .message = fields.string("message"),
          .time = fields.integer("time", 0, kMaxInteger)};
}

}  // namespace

Json to_json(const MemorySample& sample) {
  return {{"time", sample.time},
          {"milliseconds", sample.milliseconds},
          {"worker_bytes", sample.worker_bytes},
          {"host_available_bytes", sample.host_available_bytes},
          {"host_limit_bytes", sample.host_limit_bytes},
          {"device_allocated_bytes", sample.device.allocated_bytes},
          {"device_reserved_bytes", sample.device.reserved_bytes},
          {"device_peak_bytes", sample.device.peak_allocated_bytes},
          {"device_total_bytes", sample.device.total_bytes},
          {"gpu_used_bytes", sample.gpu.used_bytes},
          {"gpu_total_bytes", sample.gpu.total_bytes},
          {"gpu_utilization_percent", sample.gpu.utilization_percent},
          {"gpu_temperature_celsius", sample.gpu.temperature_celsius},
          {"pressed", sample.pressed},
          {"tokens_per_second", sample.tokens_per_second},
          {"tokens", sample.tokens},
          {"stages", to_json(sample.stages)}};
}

Json to_json(const GpuWarning& warning) {
  return {{"time", warning.time},
          {"warning", name_of(kGpuTroubles, warning.trouble)},
          {"message", warning.message}};
}

MemoryLog::MemoryLog(const std::string& path, std::function<void(const std::string&)> on_problem)
    : file_(path, memory_records(), std::move(on_problem)) {}

void MemoryLog::add(const MemorySample& sample) {
  MemorySample now = sample;
  const auto since_1970 = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  now.time = since_1970.count() / 1000;
  now.milliseconds = since_1970.count() % 1000;
  file_.add(to_json(now));
}

void MemoryLog::add(const GpuWarning& warning) {
  GpuWarning now = warning;
  now.time = static_cast<int64_t>(std::time(nullptr));
  file_.add(to_json(now));
}

Records read_memory_records(const std::string& path) {
  return read_records(path, memory_records());
}

MemoryHistory read_memory(const std::string& path) {
  return memory_history(read_memory_records(path), path);
}

MemoryHistory memory_history(Records records, const std::string& path) {
  MemoryHistory history;
  history.problems = std::move(records.problems);
  int64_t unusable = 0;
  for (const Json& line : records.lines) {
    try {
      if (line.contains("warning")) {
        history.warnings.push_back(warning_from_json(line, path));
      } else {
        history.samples.push_back(sample_from_json(line, path));
      }
    } catch (const Error&) {
      ++unusable;
    }
  }
  if (unusable > 0) {
    history.problems.push_back(fmt::format(
        "{}: {} left out", path,
        format_count(unusable, "record of another form is", "records of another form are")));
  }
  return history;
}

}  // namespace encode
