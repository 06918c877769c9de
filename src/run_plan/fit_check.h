// Refuses a run that certainly cannot fit into memory or onto the disk, before anything is loaded.
// Any thread may call these functions. They throw only the Errors that their comments name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "run_plan/memory/disk_space.h"
#include "run_plan/memory/memory_estimate.h"
#include "run_plan/memory/memory_refusal.h"
#include "run_plan/plan.h"
#include "run_record/run_log.h"

namespace encode {

// Makes the memory request of a stream whose texts and batches are not known yet.
MemoryRequest memory_request(const ModelDirectory& directory, const EffectiveResult& effective);

// Returns what the memory estimate needs to know of a stream that was scanned, with the batches
// that a run on `device` would have.
MemoryRequest planned_request(const StreamPlan& stream, const ModelDirectory& directory,
                              const DeviceFacts& device);

// Returns `hardware.memory_limit`, or no limit if memory_pressure_percent is 0, because then
// nothing watches it. `devices: all` counts as one worker: the number of devices is known only
// after a worker has started.
RunLimit run_limit(const HardwareOptions& hardware);

// Returns the memory of the device of this run, which has to hold the model, and run_limit().
// nullopt: neither is known, and nothing is refused.
std::optional<MemoryLimit> memory_limit_of(const HardwareOptions& hardware);

// Returns the GPU that this run will use; nullopt if the CPU computes or the driver does not
// answer. If it may be one of several GPUs, returns the one with the least free memory.
std::optional<MemoryLimit> gpu_of(const HardwareOptions& hardware);

// Caches gpu_of() for a whole run, because asking the driver can take seconds: it asks only once,
// when the answer is needed for the first time. Not thread-safe.
class RunGpu {
 public:
  // `hardware` must outlive the object.
  explicit RunGpu(const HardwareOptions& hardware) : hardware_(hardware) {}
  // Asks nobody: get() returns `gpu`.
  RunGpu(const HardwareOptions& hardware, std::optional<MemoryLimit> gpu)
      : hardware_(hardware), gpu_(std::move(gpu)) {}
  const std::optional<MemoryLimit>& get() {
    if (!gpu_) gpu_ = gpu_of(hardware_);
    return *gpu_;
  }

 private:
  const HardwareOptions& hardware_;
  std::optional<std::optional<MemoryLimit>> gpu_;
};

// Throws Error kConfig "limit.memory". Without a limit nothing is refused.
void check_model_fits(const ModelDirectory& directory, const ResultOptions& options,
                      const std::optional<MemoryLimit>& limit);

// Returns StreamDisk::existing_bytes of the stream with this name.
int64_t existing_bytes(const RunConfig& config, const std::string& name);
// Returns StreamDisk::finished of the stream with this name.
bool has_finished(const RunConfig& config, const std::string& name);
// The disk space that a whole experiment needs on the file system of its final matrices, and the
// space there.
struct ExperimentDisk {
  DiskNeed need;
  DiskSpace space;
};
// `streams` has a StreamDisk for each of config.streams, in the same order. Chunks do not count in
// the standard mode, or if the cache directory is on another file system than the final matrices.
// Throws Error "limit.disk", "limit.file_size" and "io.statvfs".
ExperimentDisk check_experiment_disk(const RunConfig& config, std::vector<StreamDisk> streams);

// Replaces the settings of the stream that are `auto`, and logs what they are. `scan` must be set.
void settle_settings(StreamPlan& stream, const ModelDirectory& directory, RunGpu& gpu, RunLog& log);

// Returns a sentence if the stream is likely to need more memory than its limit allows or than is
// free now (memory_warning()). The run is not refused, because batches can be halved, and other
// programs may end. `scan` must be set.
std::optional<std::string> stream_memory_warning(const StreamPlan& stream,
                                                 const ModelDirectory& directory,
                                                 const std::optional<MemoryLimit>& limit);
// Logs the warning that stream_memory_warning() returns.
void warn_of_memory(const StreamPlan& stream, const ModelDirectory& directory,
                    const std::optional<MemoryLimit>& limit, RunLog& log);

// Returns how many of the vectors of a stream `rows` of its rows have, as an estimate: at least one
// each.
int64_t vectors_of_rows(int64_t rows, int64_t all_vectors, int64_t all_rows);

// Does the same as check_experiment_disk() for planned streams, whose `scan` must be set.
ExperimentDisk check_disk(const RunConfig& config, const std::vector<StreamPlan>& streams);
// Returns a warning if the space may be too small.
std::optional<std::string> disk_warning(const ExperimentDisk& disk);

// Logs a note that a padding policy other than `none` changes nothing.
void note_padding(PaddingPolicy padding, RunLog& log);

}  // namespace encode
