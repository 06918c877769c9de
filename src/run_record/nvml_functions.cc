#include "run_record/nvml_functions.h"

#include <dlfcn.h>

namespace encode::nvml {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string find_functions(void* library, Functions& functions) {
  std::string missing;
  const auto require = [&](const char* name, auto& function) {
    if (!find(library, name, function)) missing = name;
  };
  require("nvmlInit_v2", functions.init);
  require("nvmlShutdown", functions.shutdown);
  require("nvmlErrorString", functions.error_string);
  require("nvmlDeviceGetCount_v2", functions.device_count);
  require("nvmlDeviceGetHandleByIndex_v2", functions.device_at);
  if (!missing.empty()) return missing;

  find(library, "nvmlSystemGetDriverVersion", functions.driver_version);
  find(library, "nvmlSystemGetCudaDriverVersion_v2", functions.cuda_version);
  find(library, "nvmlSystemGetProcessName", functions.process_name);
  find(library, "nvmlDeviceGetName", functions.name);
  find(library, "nvmlDeviceGetUUID", functions.uuid);
  find(library, "nvmlDeviceGetPciInfo_v3", functions.pci);
  find(library, "nvmlDeviceGetMemoryInfo", functions.memory);
  find(library, "nvmlDeviceGetUtilizationRates", functions.utilization);
  find(library, "nvmlDeviceGetTemperature", functions.temperature);
  find(library, "nvmlDeviceGetTemperatureThreshold", functions.temperature_limit);
  find(library, "nvmlDeviceGetClockInfo", functions.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", functions.max_clock);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", functions.throttle_reasons);
  find(library, "nvmlDeviceGetTotalEccErrors", functions.ecc_errors);
  find(library, "nvmlDeviceGetRemappedRows", functions.remapped_rows);
  find(library, "nvmlDeviceGetComputeMode", functions.compute_mode);
  find(library, "nvmlDeviceGetCudaComputeCapability", functions.compute_capability);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", functions.processes);
  return "";
}

}  // namespace encode::nvml
