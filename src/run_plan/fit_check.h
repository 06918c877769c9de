// Refuses a run that certainly cannot fit into memory or onto the disk, before anything is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "run_plan/memory/disk_space.h"
#include "run_plan/memory/memory_estimate.h"
#include "run_plan/memory/memory_refusal.h"
#include "run_plan/plan.h"
#include "run_record/run_log.h"

namespace encode {

// The request of a stream before its texts and batches are known.
MemoryRequest memory_request(const ModelDirectory& directory, const EffectiveResult& effective);

// The request of a stream whose `scan` is set, with the batches that a device will use.
MemoryRequest planned_request(const StreamPlan& stream, const ModelDirectory& directory,
                              const DeviceFacts& device);

// The memory in which the device of this run has to hold the model. nullopt if it cannot be found
// out; then nothing is refused.
std::optional<MemoryLimit> memory_limit_of(const HardwareOptions& hardware);

// The GPU that this run will use; nullopt if the CPU computes or the driver does not answer. If it
// is not certain which of several GPUs it is, the result is the one with the least free memory.
std::optional<MemoryLimit> gpu_of(const HardwareOptions& hardware);

// gpu_of() for a whole run: asks the driver when the answer is needed for the first time, and never
// again, because that can take seconds. Not thread-safe.
class RunGpu {
 public:
  // `hardware` must outlive the object.
  explicit RunGpu(const HardwareOptions& hardware) : hardware_(hardware) {}
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

// StreamDisk::existing_bytes of the stream with this name.
int64_t existing_bytes(const RunConfig& config, const std::string& name);
// The need of a whole experiment on the file system of its finals, and the space there.
struct ExperimentDisk {
  DiskNeed need;
  DiskSpace space;
};
// `streams` has a StreamDisk for each of config.streams, in the same order. Chunks do not count in
// the standard mode, or if the cache directory is on another file system than the finals. Throws
// Error "limit.disk",
// "limit.file_size" and "io.statvfs".
ExperimentDisk check_experiment_disk(const RunConfig& config, std::vector<StreamDisk> streams);

// Replaces the settings of the stream that are `auto`, and logs what they are. `scan` must be set.
void settle_settings(StreamPlan& stream, const ModelDirectory& directory, RunGpu& gpu, RunLog& log);

// Warns if the run is likely to need more memory than is free now. It goes on: batches are halved,
// and other programs may end. `scan` must be set.
void warn_of_memory(const StreamPlan& stream, const ModelDirectory& directory,
                    const std::optional<MemoryLimit>& limit, RunLog& log);

// The same for planned streams, whose `scan` must be set.
ExperimentDisk check_disk(const RunConfig& config, const std::vector<StreamPlan>& streams);
// Returns a sentence if the space may be too little.
std::optional<std::string> disk_warning(const ExperimentDisk& disk);

// Says in the log that another padding policy than `none` changes nothing.
void note_padding(PaddingPolicy padding, RunLog& log);

}  // namespace encode
