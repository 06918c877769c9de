// The functions of libnvidia-ml.so.1 that encode calls. The pip packages of LibTorch have no
// nvml.h, so the types and the prototypes are declared here, as NVIDIA's header has them. NVML
// keeps old functions and structs for ever, and gives new ones a new name.
#pragma once

#include <array>
#include <cstdint>
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

// A function that the library may lack is null. Calls go through answer().
struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_at)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*pci)(Device, Pci*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*temperature_limit)(Device, unsigned, unsigned*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  int (*ecc_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*compute_mode)(Device, unsigned*) = nullptr;
  int (*compute_capability)(Device, int*, int*) = nullptr;
  int (*processes)(Device, unsigned*, Process*) = nullptr;
  int (*process_name)(unsigned, char*, unsigned) = nullptr;
};

// Looks each function up in the library. Returns the name of a function without which nothing can
// be done and which the library lacks, or "".
std::string find_functions(void* library, Functions& functions);

// Calls a function; a null function gives kFunctionNotFound, as NVML itself answers.
template <typename... Parameters, typename... Arguments>
int answer(int (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr ? function(arguments...) : kFunctionNotFound;
}

}  // namespace encode::nvml
