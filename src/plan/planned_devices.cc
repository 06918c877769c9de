#include "plan/planned_devices.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>
#include <utility>

#include "base/host.h"
#include "base/nvidia_driver.h"
#include "base/units.h"
#include "run_plan/fit_check.h"
#include "run_plan/run_devices.h"
#include "run_record/nvml.h"

namespace encode {
namespace {

// "caches: 1.0 MB (L2) for each core, 33.6 MB (L3) shared", or "" if the system does not say.
std::string cache_note() {
  const int64_t second = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  const int64_t third = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (second <= 0) return "";
  return fmt::format("caches: {} (L2) for each core{}", format_bytes(second),
                     third > 0 ? fmt::format(", {} (L3) shared", format_bytes(third)) : "");
}

PlannedDevice cpu_device(const HardwareOptions& hardware, int64_t threads, double margin) {
  const HostMemory memory = host_memory();
  PlannedDevice device;
  device.name = cpu_name();
  device.place = "cpu";
  device.room = {.kind = DeviceKind::kCpu,
                 .free_bytes = memory.available_bytes,
                 .total_bytes = memory.limit_bytes,
                 .run_bytes = run_limit(hardware).of_worker(),
                 .safety_margin = margin,
                 .threads = threads_or_quota(threads)};
  if (const std::string caches = cache_note(); !caches.empty()) device.notes.push_back(caches);
  const int64_t others = memory.limit_bytes - memory.available_bytes;
  if (others > 0)
    device.users.push_back(format_bytes(others) +
                           " by other processes of this machine or container");
  return device;
}

PlannedDevice absent_card(std::string name, int64_t bytes, double margin) {
  PlannedDevice device;
  device.name = std::move(name);
  device.room = {.kind = DeviceKind::kCuda,
                 .free_bytes = bytes,
                 .total_bytes = bytes,
                 .safety_margin = margin};
  device.notes.push_back("the card is not in this machine: all of its memory counts as free");
  return device;
}

PlannedDevice real_gpu(const GpuStatus& gpu, double margin) {
  PlannedDevice device;
  device.name = gpu.name;
  device.place = fmt::format("cuda:{}", gpu.index);
  device.card = find_card(gpu.name);
  device.room = {.kind = DeviceKind::kCuda,
                 .free_bytes = gpu.free_bytes.value_or(0),
                 .total_bytes = gpu.total_bytes.value_or(0),
                 .safety_margin = margin};
  if (gpu.processes) {
    for (const GpuProcess& process : *gpu.processes) {
      device.users.push_back(
          fmt::format("{} by {} (process {})",
                      process.bytes ? format_bytes(*process.bytes) : "an unknown amount",
                      process.name.empty() ? "a program" : preview(process.name), process.pid));
    }
  }
  const int64_t used = device.room.total_bytes - device.room.free_bytes;
  if (device.users.empty() && used > 0)
    device.users.push_back(format_bytes(used) + " by the driver, or by processes that it hides");
  for (const std::string& problem : gpu.problems) device.notes.push_back(preview(problem));
  return device;
}

// Returns the ordinal by which CUDA calls each GPU, or nullopt if CUDA does not see it.
std::vector<std::optional<size_t>> cuda_ordinals(const std::vector<GpuStatus>& gpus) {
  const GpuSelection selection = gpu_selection_of_environment();
  std::vector<std::optional<size_t>> ordinals(gpus.size());
  for (size_t ordinal = 0; ordinal < gpus.size(); ++ordinal) {
    if (const auto place = visible_gpu(gpus, static_cast<int64_t>(ordinal), selection))
      ordinals[*place] = ordinal;
  }
  return ordinals;
}

// Returns the GPUs that CUDA sees. If these cannot be determined, returns all GPUs, with the
// numbers of nvidia-smi.
std::vector<PlannedDevice> gpus_of_machine(double margin) {
  std::vector<PlannedDevice> devices;
  const std::unique_ptr<Nvml> nvml = Nvml::open();
  if (!nvml) return devices;
  const std::vector<GpuStatus> gpus = nvml->gpus();
  const std::vector<std::optional<size_t>> ordinals = cuda_ordinals(gpus);
  const bool certain = std::any_of(ordinals.begin(), ordinals.end(),
                                   [](const auto& ordinal) { return ordinal.has_value(); });
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].total_bytes || (certain && !ordinals[i])) continue;
    devices.push_back(real_gpu(gpus[i], margin));
    if (certain) devices.back().place = fmt::format("cuda:{}", *ordinals[i]);
  }
  return devices;
}

}  // namespace

std::vector<PlannedDevice> planned_devices(const HardwareOptions& hardware, int64_t threads,
                                           const DeviceWish& wish) {
  if (!wish.gpu.empty()) {
    const GpuCard& card = require_card(wish.gpu);
    PlannedDevice device =
        absent_card(std::string(card.name), card.memory_bytes(), wish.safety_margin);
    device.card = &card;
    return {device};
  }
  if (wish.memory_bytes > 0) {
    return {absent_card(fmt::format("a GPU with {}", format_bytes(wish.memory_bytes)),
                        wish.memory_bytes, wish.safety_margin)};
  }
  std::vector<DeviceChoice> wanted = devices_of(hardware);
  std::erase_if(wanted,
                [](const DeviceChoice& device) { return device.kind == DeviceChoice::Kind::kCpu; });
  if (wanted.empty()) return {cpu_device(hardware, threads, wish.safety_margin)};
  std::vector<PlannedDevice> gpus = gpus_of_machine(wish.safety_margin);
  const bool numbered = std::all_of(wanted.begin(), wanted.end(), [](const DeviceChoice& device) {
    return device.number.has_value();
  });
  if (numbered) {
    std::erase_if(gpus, [&wanted](const PlannedDevice& gpu) {
      return std::none_of(wanted.begin(), wanted.end(), [&gpu](const DeviceChoice& device) {
        return to_string(device) == gpu.place;
      });
    });
  }
  if (!gpus.empty()) return gpus;
  const bool automatic = std::any_of(wanted.begin(), wanted.end(), [](const DeviceChoice& device) {
    return device.kind == DeviceChoice::Kind::kAuto;
  });
  if (automatic) return {cpu_device(hardware, threads, wish.safety_margin)};
  throw absent_device(describe_devices(hardware), "no such NVIDIA GPU",
                      "plan for a card that is not there with --gpu NAME or --gpu-memory 24GB");
}

MemoryLimit limit_of(const PlannedDevice& device, const HardwareOptions& hardware) {
  MemoryLimit limit = {.kind = DeviceKind::kCuda,
                       .name = device.name,
                       .total_bytes = device.room.total_bytes,
                       .free_bytes = device.room.free_bytes};
  if (device.room.kind == DeviceKind::kCpu) limit = host_limit();
  limit.run = run_limit(hardware);
  return limit;
}

ComputeRate compute_rate(const PlannedDevice& device, const EffectiveResult& effective,
                         std::optional<double> measured) {
  if (measured) return measured_rate(*measured);
  return device.room.kind == DeviceKind::kCuda
             ? assumed_gpu_rate(device.card, effective)
             : assumed_cpu_rate(effective.dtype, device.room.threads);
}

}  // namespace encode
