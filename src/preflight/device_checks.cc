#include "preflight/device_checks.h"

#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

#include "base/file.h"
#include "base/units.h"

namespace encode {
namespace {

// The plugin has code for these and later GPUs (CMAKE_CUDA_ARCHITECTURES in src/nn/cuda).
constexpr std::string_view kOldestCapability = "7.5";
// A GPU that is so close to the temperature at which its clocks get slower would reach it during a
// run.
constexpr int64_t kHotMarginCelsius = 5;
// The driver and a display use less memory than this, so more means that another process uses the
// GPU.
constexpr int64_t kUsedByNobodyBytes = int64_t{2} << 30;
constexpr int64_t kMaxPluginBytes = int64_t{1} << 30;

std::string cuda_text(int64_t version) {
  constexpr int64_t kMajor = 1000;
  constexpr int64_t kMinor = 10;
  return fmt::format("{}.{}", version / kMajor, version % kMajor / kMinor);
}

ErrorDetail device_error(std::string what, std::string expected, std::string found,
                         std::string hint) {
  return {.code = "preflight.device",
          .what = std::move(what),
          .where = "",
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = std::move(hint)};
}

// Returns true if the config asks for a GPU. With "auto" a machine without a GPU computes on its
// CPU.
bool asks_for_gpu(const DeviceNeeds& needs) {
  return needs.device.kind == DeviceChoice::Kind::kCuda;
}

// Adds a finding for a failure that ends a run on "cuda" and makes "auto" compute on the CPU.
void lost(const DeviceNeeds& needs, const std::string& check, const ErrorDetail& error,
          PreflightFindings& findings) {
  if (asks_for_gpu(needs)) return findings.red(check, error);
  findings.yellow(
      check, fmt::format("{} ({}), so device: auto computes on the CPU", error.what, error.found),
      error.hint);
}

void check_versions(const NvidiaDriver& driver, const DeviceNeeds& needs,
                    PreflightFindings& findings) {
  findings.green("driver", fmt::format("NVIDIA driver {}, runs CUDA up to {}",
                                       preview(driver.version), cuda_text(driver.cuda_version)));
  const PluginFacts& plugin = needs.plugin;
  if (plugin.path.empty()) {
    return lost(needs, "plugin",
                device_error("the CUDA plugin is missing",
                             "lib/libencode_cuda.so beside the programs", "no such file",
                             "build on a machine with nvcc; scripts/build.sh prints whether it "
                             "found one"),
                findings);
  }
  constexpr int64_t kMajor = 1000;
  const bool known = driver.cuda_version > 0 && plugin.cuda_version > 0;
  if (known && driver.cuda_version / kMajor < plugin.cuda_version) {
    return lost(needs, "driver",
                device_error("the NVIDIA driver is too old",
                             fmt::format("a driver for CUDA {}", plugin.cuda_version),
                             fmt::format("driver {} for CUDA up to {}", preview(driver.version),
                                         cuda_text(driver.cuda_version)),
                             "install a newer driver, or build with a LibTorch for an older CUDA"),
                findings);
  }
  findings.green("plugin", plugin.cuda_version > 0
                               ? fmt::format("{} needs CUDA {}", plugin.path, plugin.cuda_version)
                               : plugin.path);
}

void check_health(const GpuStatus& gpu, const std::string& check, PreflightFindings& findings) {
  const auto broken = [&](std::string what, std::string found, std::string hint) {
    findings.red(check,
                 device_error(std::move(what), "a healthy GPU", std::move(found), std::move(hint)));
  };
  if (gpu.ecc_errors.value_or(0) > 0) {
    broken("the memory of the GPU is damaged",
           fmt::format("{} ECC errors that were not corrected", format_count(*gpu.ecc_errors)),
           "reset the GPU (nvidia-smi --gpu-reset) or restart the machine; if errors come back, "
           "replace the card");
  }
  if (gpu.rows_failed.value_or(false)) {
    broken("the memory of the GPU is damaged", "memory rows that could not be replaced",
           "replace the card");
  }
  if (gpu.compute_prohibited.value_or(false)) {
    broken("the GPU may not compute", "compute mode: prohibited",
           "nvidia-smi --compute-mode=DEFAULT");
  }
  if (gpu.rows_pending.value_or(false)) {
    findings.yellow(check, "damaged memory rows wait to be replaced",
                    "reset the GPU (nvidia-smi --gpu-reset) before a long run");
  }
}

void check_speed(const GpuStatus& gpu, const std::string& check, PreflightFindings& findings) {
  if (gpu.temperature_celsius && gpu.slowdown_celsius &&
      *gpu.temperature_celsius >= *gpu.slowdown_celsius - kHotMarginCelsius) {
    findings.yellow(check,
                    fmt::format("the GPU is hot: {} degrees Celsius, and it slows down at {}",
                                *gpu.temperature_celsius, *gpu.slowdown_celsius),
                    "check the fans and the air flow");
  }
  const GpuThrottling throttling = gpu.throttling.value_or(GpuThrottling{});
  if (!throttling.thermal && !throttling.power_brake && !throttling.hardware) return;
  const char* reason = "the hardware";
  if (throttling.power_brake) reason = "the power supply";
  if (throttling.thermal) reason = "the temperature";
  findings.yellow(check,
                  fmt::format("{} slows the GPU down: {} of {} MHz", reason,
                              gpu.sm_clock_mhz.value_or(0), gpu.max_sm_clock_mhz.value_or(0)),
                  "check the cooling and the power supply (nvidia-smi -q -d PERFORMANCE)");
}

void check_sharing(const GpuStatus& gpu, const DeviceNeeds& needs, const std::string& check,
                   PreflightFindings& findings) {
  if (gpu.free_bytes && needs.model_bytes > *gpu.free_bytes) {
    findings.red(check, device_error("the model does not fit into the free memory of the GPU",
                                     format_bytes(needs.model_bytes) + " for the weights",
                                     fmt::format("{} free of {}", format_bytes(*gpu.free_bytes),
                                                 format_bytes(gpu.total_bytes.value_or(0))),
                                     "end other processes on the GPU, or choose a smaller dtype, "
                                     "another GPU or a smaller model"));
  }
  const std::vector<GpuProcess> processes = gpu.processes.value_or(std::vector<GpuProcess>());
  for (const GpuProcess& process : processes) {
    findings.yellow(
        check,
        fmt::format("process {} ({}) computes on the GPU too{}", process.pid,
                    process.name.empty() ? "of another container" : preview(process.name),
                    process.bytes
                        ? fmt::format(" and has {} of its memory", format_bytes(*process.bytes))
                        : ""),
        "wait for it or end it, or choose another GPU with CUDA_VISIBLE_DEVICES");
  }
  if (processes.empty() && gpu.used_bytes.value_or(0) > kUsedByNobodyBytes) {
    findings.yellow(
        check,
        fmt::format("processes that cannot be seen from here use {} of {}",
                    format_bytes(*gpu.used_bytes), format_bytes(gpu.total_bytes.value_or(0))),
        "look with nvidia-smi on the host of the container");
  }
}

bool is_too_old(const GpuStatus& gpu) {
  // Compares the lengths first, because "10.0" is above "7.5".
  const std::string& capability = gpu.compute_capability.value_or(std::string(kOldestCapability));
  return capability.size() < kOldestCapability.size() ||
         (capability.size() == kOldestCapability.size() && capability < kOldestCapability);
}

// Describes the GPU; leaves out what the GPU does not report.
std::string describe(const GpuStatus& gpu) {
  std::vector<std::string> facts;
  if (gpu.free_bytes && gpu.total_bytes)
    facts.push_back(fmt::format("{} of {} free", format_bytes(*gpu.free_bytes),
                                format_bytes(*gpu.total_bytes)));
  if (gpu.temperature_celsius)
    facts.push_back(fmt::format("{} degrees Celsius", *gpu.temperature_celsius));
  if (gpu.ecc_errors) facts.emplace_back("no ECC errors");
  if (gpu.processes) facts.emplace_back("no other process");
  const char* separator = facts.empty() ? "" : ": ";
  return fmt::format("{}{}{}", preview(gpu.name), separator, fmt::join(facts, ", "));
}

void check_gpu(const GpuStatus& gpu, const DeviceNeeds& needs, PreflightFindings& findings) {
  const std::string check = fmt::format("gpu {}", gpu.index);
  const size_t before = findings.all().size();
  for (const std::string& problem : gpu.problems)
    findings.yellow(check, "the driver does not say everything: " + preview(problem, 200),
                    "run nvidia-smi; if it fails too, reset the GPU");
  if (is_too_old(gpu)) {
    findings.red(check,
                 device_error("the GPU is too old",
                              fmt::format("compute capability {} or above", kOldestCapability),
                              fmt::format("{} with {}", preview(gpu.name), *gpu.compute_capability),
                              "choose another GPU, or device: cpu"));
  }
  check_health(gpu, check, findings);
  check_speed(gpu, check, findings);
  check_sharing(gpu, needs, check, findings);
  if (findings.all().size() > before) return;
  findings.green(check, describe(gpu));
}

}  // namespace

DriverFacts ask_driver() {
  DriverFacts facts;
  try {
    const std::unique_ptr<Nvml> nvml = Nvml::open();
    if (nvml == nullptr) return facts;
    facts.driver = nvml->driver();
    facts.gpus = nvml->gpus();
  } catch (const Error& error) {
    facts.failure = error.detail();
  }
  return facts;
}

PluginFacts find_plugin(const std::string& program) {
  const std::string folder = parent_directory(program);
  for (const char* place : {"/../lib/libencode_cuda.so", "/libencode_cuda.so"}) {
    const std::string path = folder + place;
    try {
      // The list of needed libraries in the file has the name of the CUDA runtime.
      const std::string bytes = read_file(path, kMaxPluginBytes, "io.read");
      constexpr std::string_view kRuntime = "libcudart.so.";
      PluginFacts plugin{.path = std::filesystem::path(path).lexically_normal().string()};
      const size_t name = bytes.find(kRuntime);
      if (name != std::string::npos)
        std::from_chars(bytes.data() + name + kRuntime.size(), bytes.data() + bytes.size(),
                        plugin.cuda_version);
      return plugin;
    } catch (const Error&) {
      continue;  // the worker cannot open it either
    }
  }
  return {};
}

void check_device(const DriverFacts& facts, const DeviceNeeds& needs, PreflightFindings& findings) {
  if (needs.device.kind == DeviceChoice::Kind::kCpu) return;
  if (facts.failure) return lost(needs, "driver", *facts.failure, findings);
  if (!facts.driver || facts.gpus.empty()) {
    if (!asks_for_gpu(needs))
      return findings.green("device", "device: auto, and no NVIDIA GPU: the CPU computes");
    return findings.red(
        "driver",
        device_error("this machine has no NVIDIA GPU with a driver", to_string(needs.device),
                     facts.driver ? "a driver without a GPU" : "no NVIDIA driver",
                     "install the driver, or set device: auto or cpu"));
  }
  check_versions(*facts.driver, needs, findings);
  const std::optional<size_t> chosen =
      visible_gpu(facts.gpus, needs.device.ordinal(), needs.selection);
  if (chosen) return check_gpu(facts.gpus[*chosen], needs, findings);
  const bool hidden = needs.selection.visible_devices.has_value();
  findings.yellow("device",
                  fmt::format("it is not certain which GPU is {}{}",
                              asks_for_gpu(needs) ? to_string(needs.device) : "cuda:0",
                              hidden ? " (CUDA_VISIBLE_DEVICES is set)" : ""),
                  "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the GPU by its UUID in "
                  "CUDA_VISIBLE_DEVICES (nvidia-smi -L)");
  for (const GpuStatus& gpu : facts.gpus) check_gpu(gpu, needs, findings);
}

}  // namespace encode
