// A stand-in for libnvidia-ml.so.1, the library of the NVIDIA driver. Environment variables say
// what it answers:
//
//   NVML_TEMPERATURE=91 NVML_UTILIZATION=!3 LD_LIBRARY_PATH=<its folder> encode preflight
//
// "!3" makes a function fail with NVML's code 3. "40|91" is for several GPUs: the first value is
// for the first GPU, and the last one for all that follow. Without a variable, the GPU is healthy.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kInsufficientSize = 7;

struct Answer {
  int code = kSuccess;
  std::string text;
  unsigned long long number() const { return std::strtoull(text.c_str(), nullptr, 0); }
};

Answer answer(const char* name, const char* usual, size_t gpu = 0) {
  const char* const given = std::getenv((std::string("NVML_") + name).c_str());
  std::string_view rest = given != nullptr ? given : usual;
  for (size_t i = 0; i < gpu && rest.find('|') != std::string_view::npos; ++i)
    rest.remove_prefix(rest.find('|') + 1);
  const std::string text(rest.substr(0, rest.find('|')));
  if (text.starts_with("!")) return {.code = std::atoi(text.c_str() + 1), .text = ""};
  return {.code = kSuccess, .text = text};
}

// A device is its number and one, as a pointer.
size_t number_of(const void* device) { return reinterpret_cast<uintptr_t>(device) - 1; }

int give_text(const Answer& answer, char* out, unsigned size) {
  if (answer.code != kSuccess) return answer.code;
  if (answer.text.size() >= size) return kInsufficientSize;
  std::memcpy(out, answer.text.c_str(), answer.text.size() + 1);
  return kSuccess;
}

template <typename Number>
int give(const Answer& answer, Number* out) {
  if (answer.code == kSuccess) *out = static_cast<Number>(answer.number());
  return answer.code;
}

struct Pci {
  char legacy_bus_id[16];
  unsigned numbers[5];
  char bus_id[32];
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return answer("INIT", "0").code; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int code) {
  switch (code) {
    case 4:
      return "Insufficient Permissions";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return give_text(answer("DRIVER", "580.65.06"), out, size);
}
int nvmlSystemGetCudaDriverVersion_v2(int* out) { return give(answer("CUDA", "13000"), out); }
int nvmlSystemGetProcessName(unsigned pid, char* out, unsigned size) {
  return give_text({.text = "/usr/bin/process" + std::to_string(pid)}, out, size);
}
int nvmlDeviceGetCount_v2(unsigned* out) { return give(answer("GPUS", "1"), out); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  const Answer state = answer("GPU", "", index);
  *out = reinterpret_cast<void*>(static_cast<uintptr_t>(index) + 1);
  return state.code;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return give_text(answer("NAME", "NVIDIA H100 80GB HBM3", number_of(device)), out, size);
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  const std::string usual = "GPU-" + std::to_string(number_of(device)) + "0000000-stand-in";
  return give_text(answer("UUID", usual.c_str(), number_of(device)), out, size);
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* out) {
  *out = {};
  std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02zX:00.0", number_of(device) + 1);
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  const Answer total = answer("MEMORY_TOTAL", "85520809984", number_of(device));
  const Answer used = answer("MEMORY_USED", "500000000", number_of(device));
  if (total.code != kSuccess) return total.code;
  *out = {total.number(), total.number() - used.number(), used.number()};
  return used.code;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* out) {
  *out = {};
  return give(answer("UTILIZATION", "0", number_of(device)), &out->gpu);
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* out) {
  if (sensor != 0) return kInvalidArgument;
  return give(answer("TEMPERATURE", "41", number_of(device)), out);
}
int nvmlDeviceGetTemperatureThreshold(void* device, unsigned limit, unsigned* out) {
  if (limit != 1) return kInvalidArgument;
  return give(answer("SLOWDOWN", "90", number_of(device)), out);
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* out) {
  if (clock != 1) return kInvalidArgument;
  return give(answer("CLOCK", "1980", number_of(device)), out);
}
int nvmlDeviceGetMaxClockInfo(void* device, unsigned clock, unsigned* out) {
  if (clock != 1) return kInvalidArgument;
  return give(answer("MAX_CLOCK", "1980", number_of(device)), out);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  return give(answer("THROTTLING", "0", number_of(device)), out);
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter,
                                unsigned long long* out) {
  if (type != 1 || counter != 0) return kInvalidArgument;
  return give(answer("ECC_ERRORS", "0", number_of(device)), out);
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = 0;
  const int code = give(answer("ROWS_PENDING", "0", number_of(device)), pending);
  return code != kSuccess ? code : give(answer("ROWS_FAILED", "0", number_of(device)), failed);
}
int nvmlDeviceGetComputeMode(void* device, unsigned* out) {
  return give(answer("COMPUTE_MODE", "0", number_of(device)), out);
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  const Answer capability = answer("CAPABILITY", "90", number_of(device));
  *major = static_cast<int>(capability.number() / 10);
  *minor = static_cast<int>(capability.number() % 10);
  return capability.code;
}
// NVML_PROCESSES=2 gives two processes, with the ids 1001 and 1002.
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* out) {
  const Answer processes = answer("PROCESSES", "0", number_of(device));
  if (processes.code != kSuccess) return processes.code;
  const auto found = static_cast<unsigned>(processes.number());
  const unsigned room = *count;
  *count = found;
  if (found > room) return kInsufficientSize;
  const unsigned long long bytes = answer("PROCESS_BYTES", "2000000000").number();
  for (unsigned i = 0; i < found; ++i) out[i] = {1001 + i, bytes, 0, 0};
  return kSuccess;
}

}  // extern "C"
