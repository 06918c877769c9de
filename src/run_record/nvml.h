// Asks the NVIDIA driver about the GPUs of this machine, through NVML, the library of the driver,
// which is opened at run time. No CUDA context is made, and no memory of a GPU is used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace encode {

struct NvidiaDriver {
  std::string version;       // "580.65.06"; "" if the driver does not say
  int64_t cuda_version = 0;  // the newest CUDA that the driver runs: 13000 is 13.0; 0: not known
};

struct GpuProcess {
  int64_t pid = 0;               // may be a number of another PID namespace, as in a container
  std::optional<int64_t> bytes;  // its memory on the GPU
  std::string name;              // the program; "" if it cannot be found out
};

// Why the clocks are below their maximum. A GPU may have several reasons at once.
struct GpuThrottling {
  bool thermal = false;      // the GPU is too hot
  bool power_brake = false;  // the power supply has asked for lower clocks
  bool hardware = false;     // the hardware slows down, for one of the two reasons or another one
  bool power_cap = false;    // the power limit, which is usual under full load
};

// A value is nullopt if this GPU or its driver does not know it.
struct GpuStatus {
  int64_t index = 0;       // NVML's number, in the order of the PCI buses, as nvidia-smi shows it
  std::string name;        // "NVIDIA H200"
  std::string uuid;        // "GPU-..."
  std::string pci_bus_id;  // "00000000:3B:00.0"
  std::optional<int64_t> total_bytes;
  std::optional<int64_t> free_bytes;
  std::optional<int64_t> used_bytes;           // by all processes and the driver itself
  std::optional<int64_t> utilization_percent;  // in the last sample period, at most a second
  std::optional<int64_t> temperature_celsius;
  std::optional<int64_t> slowdown_celsius;  // at this temperature the clocks get slower
  std::optional<int64_t> sm_clock_mhz;
  std::optional<int64_t> max_sm_clock_mhz;
  std::optional<GpuThrottling> throttling;
  std::optional<int64_t> ecc_errors;  // uncorrected errors since the driver was loaded
  std::optional<bool> rows_pending;   // true: a reset of the GPU would replace damaged memory rows
  std::optional<bool> rows_failed;    // true: damaged memory rows could not be replaced
  std::optional<bool> compute_prohibited;            // true: the compute mode allows no process
  std::optional<std::string> compute_capability;     // "9.0"
  std::optional<std::vector<GpuProcess>> processes;  // the processes that compute on this GPU
  std::vector<std::string> problems;  // one phrase for each value that NVML failed to give
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// The opened library. One thread at a time may use an object. A call can hang while a GPU hangs, so
// call status() on a thread that nothing else waits for.
class Nvml {
 public:
  // Returns nullptr if this machine has no NVIDIA driver: there is no library, or no driver is
  // loaded. `library` is a name that the loader looks for, or a path. Throws
  // Error kUnavailable "nvml.failed" for any other failure, for example if the library does not
  // belong to the loaded driver.
  static std::unique_ptr<Nvml> open(const std::string& library = kNvmlLibrary);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  NvidiaDriver driver() const;
  // Returns all GPUs, in the order of their index. A GPU that does not answer has only `index` and
  // `problems`. Throws Error kUnavailable "nvml.failed" if the driver does not list them.
  std::vector<GpuStatus> gpus() const;

 private:
  struct Functions;

  explicit Nvml(std::unique_ptr<Functions> functions);
  GpuStatus status(int64_t index) const;

  std::unique_ptr<Functions> functions_;
};

// Decides which GPU a CUDA ordinal means; input of visible_gpu().
struct GpuSelection {
  std::optional<std::string> visible_devices = {};  // the environment's CUDA_VISIBLE_DEVICES
  std::string device_order = {};                    // the environment's CUDA_DEVICE_ORDER, or ""
  std::string name = {};  // the name of the GPU as a process that uses it reports it; or ""
};
GpuSelection gpu_selection_of_environment();

// Returns the place in `gpus` of the GPU that CUDA calls `ordinal`. CUDA numbers the GPUs that
// CUDA_VISIBLE_DEVICES lists, or all of them: in the order of the PCI buses with
// CUDA_DEVICE_ORDER=PCI_BUS_ID, else the fastest first. Returns nullopt if there is no such GPU, or
// if it is not certain which one it is, because GPUs of several models are there.
std::optional<size_t> visible_gpu(const std::vector<GpuStatus>& gpus, int64_t ordinal,
                                  const GpuSelection& selection);

}  // namespace encode
