// The functions of libnvidia-ml.so.1 that encode calls, declared as in NVIDIA's nvml.h, which the
// pip packages of LibTorch do not have. The declarations stay valid: NVML never changes a function
// or a struct, and gives new ones a new name.
#pragma once

#include <array>
#include <dlfcn.h>
#include <string>

namespace encode::nvml {

// nvmlReturn_t
inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kDriverNotLoaded = 9;
inline constexpr int kFunctionNotFound = 13;

using Device = struct DeviceOfDriver*;  // the library owns it

struct Pci {
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(Pci) == 68);

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Utilization {
  unsigned gpu;  // percent of the time in which a kernel ran
  unsigned memory;
};

struct Process {
  unsigned pid;
  unsigned long long used_bytes;  // kNoValue: the driver does not know it
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(Process) == 24);
inline constexpr unsigned long long kNoValue = ~0ULL;

inline constexpr unsigned kSmClock = 1;              // NVML_CLOCK_SM
inline constexpr unsigned kGpuTemperature = 0;       // NVML_TEMPERATURE_GPU
inline constexpr unsigned kSlowdownTemperature = 1;  // NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
inline constexpr unsigned kUncorrected = 1;          // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
inline constexpr unsigned kSinceDriverLoaded = 0;    // NVML_VOLATILE_ECC
inline constexpr unsigned kProhibited = 2;           // NVML_COMPUTEMODE_PROHIBITED

// nvmlClocksThrottleReason...
inline constexpr unsigned long long kPowerCap = 0x4;
inline constexpr unsigned long long kHardwareSlowdown = 0x8;
inline constexpr unsigned long long kSoftwareThermal = 0x20;
inline constexpr unsigned long long kHardwareThermal = 0x40;
inline constexpr unsigned long long kPowerBrake = 0x80;

// The address of a function of the library, as a pointer of the type that its caller declares.
struct Symbol {
  void* address = nullptr;
  template <typename Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor): the types are stated once
    return reinterpret_cast<Function*>(address);
  }
};

// The functions of a library. An optional function that it lacks is null. Calls go through
// answer().
struct Functions {
  explicit Functions(void* opened) : library(opened) {}
  Symbol find(const char* function) const { return {::dlsym(library, function)}; }
  Symbol required(const char* function) {
    const Symbol found = find(function);
    if (found.address == nullptr) missing = function;
    return found;
  }

  void* library;
  // The name of a required function that the library lacks, or "".
  std::string missing = {};
  int (*init)() = required("nvmlInit_v2");
  int (*shutdown)() = required("nvmlShutdown");
  const char* (*error_string)(int) = required("nvmlErrorString");
  int (*driver_version)(char*, unsigned) = find("nvmlSystemGetDriverVersion");
  int (*cuda_version)(int*) = find("nvmlSystemGetCudaDriverVersion_v2");
  int (*device_count)(unsigned*) = required("nvmlDeviceGetCount_v2");
  int (*device_at)(unsigned, Device*) = required("nvmlDeviceGetHandleByIndex_v2");
  int (*name)(Device, char*, unsigned) = find("nvmlDeviceGetName");
  int (*uuid)(Device, char*, unsigned) = find("nvmlDeviceGetUUID");
  int (*pci)(Device, Pci*) = find("nvmlDeviceGetPciInfo_v3");
  int (*memory)(Device, Memory*) = find("nvmlDeviceGetMemoryInfo");
  int (*utilization)(Device, Utilization*) = find("nvmlDeviceGetUtilizationRates");
  int (*temperature)(Device, unsigned, unsigned*) = find("nvmlDeviceGetTemperature");
  int (*temperature_limit)(Device, unsigned, unsigned*) = find("nvmlDeviceGetTemperatureThreshold");
  int (*clock)(Device, unsigned, unsigned*) = find("nvmlDeviceGetClockInfo");
  int (*max_clock)(Device, unsigned, unsigned*) = find("nvmlDeviceGetMaxClockInfo");
  int (*throttle_reasons)(Device,
                          unsigned long long*) = find("nvmlDeviceGetCurrentClocksThrottleReasons");
  int (*ecc_errors)(Device, unsigned, unsigned,
                    unsigned long long*) = find("nvmlDeviceGetTotalEccErrors");
  int (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*,
                       unsigned*) = find("nvmlDeviceGetRemappedRows");
  int (*compute_mode)(Device, unsigned*) = find("nvmlDeviceGetComputeMode");
  int (*compute_capability)(Device, int*, int*) = find("nvmlDeviceGetCudaComputeCapability");
  int (*processes)(Device, unsigned*, Process*) = find("nvmlDeviceGetComputeRunningProcesses_v3");
  int (*process_name)(unsigned, char*, unsigned) = find("nvmlSystemGetProcessName");
};

// Calls a function; a null function gives kFunctionNotFound, as NVML itself answers.
template <typename... Parameters, typename... Arguments>
int answer(int (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr ? function(arguments...) : kFunctionNotFound;
}

}  // namespace encode::nvml
