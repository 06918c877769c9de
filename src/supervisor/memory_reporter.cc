// The part of RunReporter that records the memory of the host, of the workers and of their GPUs.
#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "base/host.h"
#include "base/units.h"
#include "supervisor/run_reporter.h"

namespace encode {

void RunReporter::on(Worker& worker, const MemoryPressure& event) {
  const Json facts = {{"used_percent", event.used_percent},
                      {"available_bytes", event.available_bytes}};
  const std::string memory = worker.prefix() +
                             describe_host_memory(event.used_percent, event.available_bytes) +
                             (has_memory_limit_ ? " within hardware.memory_limit" : "");
  if (event.pressed) {
    ++pressure_.times;
    log_.warning("memory_pressure",
                 memory +
                     ": reading ahead stops, caches shrink, at most a quarter of the rows is "
                     "encoded at once",
                 facts);
  } else {
    log_.info("memory_pressure_over",
              fmt::format("{}: back to normal after {}", memory,
                          format_duration(pressure_watch_.seconds())),
              facts);
  }
  set_pressed(worker, event.pressed);
  log_memory(Clock::now());
}

// Counts the time in which at least one worker is short of host memory.
void RunReporter::set_pressed(Worker& worker, bool pressed) {
  const auto any = [this] {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const auto& entry) { return entry.second.memory.pressed; });
  };
  const bool before = any();
  worker.memory.pressed = pressed;
  if (!before) pressure_watch_.lap();
  if (before && !any()) pressure_.seconds += pressure_watch_.lap();
}

void RunReporter::sample_gpu(Worker& worker) {
  if (worker.gpu_sampler == nullptr) return;
  if (const auto sample = worker.gpu_sampler->take()) {
    take(worker, *sample);
    record_memory();
  }
  const std::string problem = worker.gpu_sampler->take_problem();
  if (!problem.empty())
    log_.warning("gpu_monitor", worker.prefix() + "the GPU is not watched: " + problem);
}

void RunReporter::take(Worker& worker, const GpuSample& sample) {
  worker.memory.gpu = sample;
  const bool encoding = worker.state == WorkerState::kEncoding;
  for (const GpuWarning& warning : worker.gpu_watch.sampled(Clock::now(), sample, encoding))
    warn(worker, warning);
}

void RunReporter::warn(const Worker& worker, const GpuWarning& warning) {
  log_.warning("gpu_" + std::string(name_of(kGpuTroubles, warning.trouble)),
               worker.prefix() + warning.message);
  memory_log_.add(warning);
}

// Records the sum of the memory of all workers, and of their GPUs the highest load and temperature.
HostMemory RunReporter::record_memory() {
  const HostMemory memory = host_memory();
  MemorySample sample = {.host_available_bytes = memory.available_bytes,
                         .host_limit_bytes = memory.limit_bytes,
                         .tokens_per_second = progress_.tokens_per_second(),
                         .tokens = tokens_,
                         .stages = stages()};
  const auto add = [](int64_t& sum, int64_t bytes) {
    if (bytes >= 0) sum = std::max<int64_t>(sum, 0) + bytes;
  };
  for (const auto& [number, worker] : workers_) {
    const MemorySample& own = worker.memory;
    sample.worker_bytes += own.worker_bytes;
    sample.device.allocated_bytes += own.device.allocated_bytes;
    sample.device.reserved_bytes += own.device.reserved_bytes;
    sample.device.peak_allocated_bytes += own.device.peak_allocated_bytes;
    sample.device.total_bytes += own.device.total_bytes;
    sample.pressed = sample.pressed || own.pressed;
    add(sample.gpu.used_bytes, own.gpu.used_bytes);
    add(sample.gpu.total_bytes, own.gpu.total_bytes);
    sample.gpu.utilization_percent =
        std::max(sample.gpu.utilization_percent, own.gpu.utilization_percent);
    sample.gpu.temperature_celsius =
        std::max(sample.gpu.temperature_celsius, own.gpu.temperature_celsius);
  }
  memory_log_.add(sample);
  memory_sampled_ = Clock::now();
  return memory;
}

// A short run gets a sample each second, so that a chart of it has points. The time between two
// samples grows with the run.
void RunReporter::sample_memory(Clock::time_point now) {
  const Clock::duration interval =
      std::clamp<Clock::duration>((now - begun_) / 8, std::chrono::seconds(1), kMemoryInterval);
  if (now - memory_logged_ >= kMemoryInterval) {
    log_memory(now);
  } else if (now - memory_sampled_ >= interval) {
    record_memory();
  }
}

void RunReporter::log_memory(Clock::time_point now) {
  memory_logged_ = now;
  const HostMemory memory = record_memory();
  log_.detail(
      "host_memory", describe(memory),
      {{"used_percent", memory.used_percent()}, {"available_bytes", memory.available_bytes}});
}

}  // namespace encode
