#include "run_record/nvml.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/cgroup.h"
#include "run_record/nvml_functions.h"

namespace encode {

struct Nvml::Functions : nvml::Functions {
  using nvml::Functions::Functions;
};

namespace {

using nvml::answer;

Error failed(std::string what, std::string found) {
  return Error(
      {.code = "nvml.failed",
       .what = std::move(what),
       .where = kNvmlLibrary,
       .expected = "an answer of the NVIDIA driver",
       .found = std::move(found),
       .hint = "run nvidia-smi; if it fails too, reload the driver or restart the machine"});
}

// Collects the values of one GPU, and the errors of the values that NVML fails to give.
class Reader {
 public:
  Reader(const nvml::Functions& functions, GpuStatus& status)
      : functions_(functions), status_(status) {}

  // Returns true if the value is available. It is not reported as a problem if the GPU or the
  // driver does not support the value.
  bool good(int code, const char* what) {
    if (code == nvml::kSuccess) return true;
    if (code != nvml::kNotSupported && code != nvml::kFunctionNotFound)
      status_.problems.push_back(fmt::format("{}: {}", what, functions_.error_string(code)));
    return false;
  }

  // Asks a function that gives one number.
  template <typename Function, typename... Arguments>
  std::optional<int64_t> number(const char* what, Function function, Arguments... arguments) {
    unsigned value = 0;
    if (!good(answer(function, arguments..., &value), what)) return std::nullopt;
    return value;
  }

  // Asks a function that gives a text.
  template <typename Function>
  std::string text(const char* what, Function function, nvml::Device device) {
    std::array<char, 96> value = {};  // the longest text that NVML documents
    if (!good(answer(function, device, value.data(), static_cast<unsigned>(value.size())), what))
      return "";
    return value.data();
  }

 private:
  const nvml::Functions& functions_;
  GpuStatus& status_;
};

void read_identity(const nvml::Functions& functions, nvml::Device device, GpuStatus& status) {
  Reader reader(functions, status);
  status.name = reader.text("name", functions.name, device);
  status.uuid = reader.text("UUID", functions.uuid, device);
  nvml::Pci pci = {};
  if (reader.good(answer(functions.pci, device, &pci), "PCI bus"))
    status.pci_bus_id.assign(pci.bus_id.begin(),
                             std::find(pci.bus_id.begin(), pci.bus_id.end(), '\0'));
  int major = 0;
  int minor = 0;
  if (reader.good(answer(functions.compute_capability, device, &major, &minor),
                  "compute capability"))
    status.compute_capability = fmt::format("{}.{}", major, minor);
}

void read_load(const nvml::Functions& functions, nvml::Device device, GpuStatus& status) {
  Reader reader(functions, status);
  nvml::Memory memory = {};
  if (reader.good(answer(functions.memory, device, &memory), "memory")) {
    status.total_bytes = static_cast<int64_t>(memory.total);
    status.free_bytes = static_cast<int64_t>(memory.free);
    status.used_bytes = static_cast<int64_t>(memory.used);
  }
  nvml::Utilization utilization = {};
  if (reader.good(answer(functions.utilization, device, &utilization), "utilization"))
    status.utilization_percent = utilization.gpu;
  status.temperature_celsius =
      reader.number("temperature", functions.temperature, device, nvml::kGpuTemperature);
  status.slowdown_celsius = reader.number("temperature limit", functions.temperature_limit, device,
                                          nvml::kSlowdownTemperature);
  status.sm_clock_mhz = reader.number("clock", functions.clock, device, nvml::kSmClock);
  status.max_sm_clock_mhz =
      reader.number("highest clock", functions.max_clock, device, nvml::kSmClock);
  unsigned long long reasons = 0;
  if (reader.good(answer(functions.throttle_reasons, device, &reasons), "throttling")) {
    const auto has = [reasons](unsigned long long bits) { return (reasons & bits) != 0; };
    status.throttling = {.thermal = has(nvml::kSoftwareThermal | nvml::kHardwareThermal),
                         .power_brake = has(nvml::kPowerBrake),
                         .hardware = has(nvml::kHardwareSlowdown),
                         .power_cap = has(nvml::kPowerCap)};
  }
}

void read_health(const nvml::Functions& functions, nvml::Device device, GpuStatus& status) {
  Reader reader(functions, status);
  unsigned long long errors = 0;
  const int code =
      answer(functions.ecc_errors, device, nvml::kUncorrected, nvml::kSinceDriverLoaded, &errors);
  if (reader.good(code, "ECC errors")) status.ecc_errors = static_cast<int64_t>(errors);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed_rows = 0;
  if (reader.good(
          answer(functions.remapped_rows, device, &corrected, &uncorrected, &pending, &failed_rows),
          "replaced memory rows")) {
    status.rows_pending = pending != 0;
    status.rows_failed = failed_rows != 0;
  }
  if (const auto mode = reader.number("compute mode", functions.compute_mode, device))
    status.compute_prohibited = *mode == nvml::kProhibited;
}

// NVML finds no name if the process is in another container, or belongs to another user.
std::string program_name(const nvml::Functions& functions, unsigned pid) {
  std::array<char, 256> name = {};
  if (answer(functions.process_name, pid, name.data(), static_cast<unsigned>(name.size())) ==
      nvml::kSuccess)
    return name.data();
  return read_first_line(fmt::format("/proc/{}/comm", pid)).value_or("");
}

void read_processes(const nvml::Functions& functions, nvml::Device device, GpuStatus& status) {
  Reader reader(functions, status);
  constexpr size_t kMostProcesses = 1024;
  std::vector<nvml::Process> found(64);
  auto count = static_cast<unsigned>(found.size());
  int code = answer(functions.processes, device, &count, found.data());
  if (code == nvml::kInsufficientSize) {
    found.resize(kMostProcesses);
    count = static_cast<unsigned>(found.size());
    code = answer(functions.processes, device, &count, found.data());
  }
  if (!reader.good(code, "processes")) return;
  found.resize(std::min<size_t>(count, found.size()));
  std::vector<GpuProcess>& processes = status.processes.emplace();
  for (const nvml::Process& process : found) {
    GpuProcess& added = processes.emplace_back();
    added.pid = process.pid;
    if (process.used_bytes != nvml::kNoValue)
      added.bytes = static_cast<int64_t>(process.used_bytes);
    added.name = program_name(functions, process.pid);
  }
}

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& library) {
  // The library is never closed, because it keeps threads and descriptors of the driver.
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string reason = ::dlerror();
    // The loader has no other way to say that there is no such library. It names another file if
    // only a part of the library is missing.
    if (reason.starts_with(library + ": cannot open shared object file")) return nullptr;
    throw failed("the driver's library cannot be opened", reason);
  }
  auto functions = std::make_unique<Functions>(handle);
  if (!functions->missing.empty())
    throw failed("the driver's library lacks a function", "no function " + functions->missing);
  const int code = functions->init();
  if (code == nvml::kDriverNotLoaded) return nullptr;
  if (code != nvml::kSuccess)
    throw failed("the driver cannot be asked", functions->error_string(code));
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() { functions_->shutdown(); }

NvidiaDriver Nvml::driver() const {
  NvidiaDriver driver;
  std::array<char, 96> version = {};
  if (answer(functions_->driver_version, version.data(), static_cast<unsigned>(version.size())) ==
      nvml::kSuccess)
    driver.version = version.data();
  int cuda = 0;
  if (answer(functions_->cuda_version, &cuda) == nvml::kSuccess) driver.cuda_version = cuda;
  return driver;
}

std::vector<GpuStatus> Nvml::gpus() const {
  unsigned count = 0;
  const int code = functions_->device_count(&count);
  if (code != nvml::kSuccess)
    throw failed("the driver does not list its GPUs", functions_->error_string(code));
  std::vector<GpuStatus> gpus;
  for (unsigned index = 0; index < count; ++index) gpus.push_back(status(index));
  return gpus;
}

GpuStatus Nvml::status(int64_t index) const {
  GpuStatus status;
  status.index = index;
  nvml::Device device = nullptr;
  const int code = functions_->device_at(static_cast<unsigned>(index), &device);
  if (code != nvml::kSuccess) {
    status.problems.push_back(fmt::format("no answer: {}", functions_->error_string(code)));
    return status;
  }
  read_identity(*functions_, device, status);
  read_load(*functions_, device, status);
  read_health(*functions_, device, status);
  read_processes(*functions_, device, status);
  return status;
}

}  // namespace encode
