// Looks for trouble in the measurements of a GPU during a run. Throws no Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "encode/device.h"

#include "base/names.h"
#include "run_record/progress.h"

namespace encode {

enum class GpuTrouble {
  kMemoryCreeps,  // the reserved memory grows from chunk to chunk
  kNearLimit,     // the memory of the card is nearly full
  kIdle,          // the card waits although rows are pending
};
inline constexpr NameTable<GpuTrouble, 3> kGpuTroubles = {
    {{"memory_creeps", GpuTrouble::kMemoryCreeps},
     {"near_limit", GpuTrouble::kNearLimit},
     {"idle", GpuTrouble::kIdle}}};

struct GpuWarning {
  GpuTrouble trouble = GpuTrouble::kIdle;
  std::string message;  // one sentence
  int64_t time = 0;     // seconds since 1970; MemoryLog sets it
};

// What the driver reports about the GPU of a run; a negative value stands for "not known".
struct GpuSample {
  int64_t used_bytes = -1;  // the memory that all processes use
  int64_t total_bytes = -1;
  int64_t utilization_percent = -1;
  int64_t temperature_celsius = -1;
};

// Reports each kind of trouble once, and again only after it has passed. Not thread-safe.
class GpuWatch {
 public:
  // The card is nearly full above kFullPercent, and no longer below kNotFullPercent.
  static constexpr int64_t kFullPercent = 95;
  static constexpr int64_t kNotFullPercent = 90;
  // The card is idle if all samples of the last kIdleTime are below kIdlePercent.
  static constexpr int64_t kIdlePercent = 20;
  static constexpr std::chrono::seconds kIdleTime{60};
  // The first chunks of a worker fill its buffers. The memory creeps if the median of the last
  // kCreepChunks chunks is above the median of the kCreepChunks chunks after the first
  // kWarmUpChunks by more than both kCreepPercent and kCreepBytes. The median ignores a single
  // large chunk.
  static constexpr size_t kWarmUpChunks = 4;
  static constexpr size_t kCreepChunks = 7;
  static constexpr int64_t kCreepPercent = 10;
  static constexpr int64_t kCreepBytes = int64_t{256} << 20;

  // Must be called when another worker starts, because its memory begins anew.
  void worker_started();
  // Returns a warning if the memory of the worker, which is `memory` after a chunk, creeps up.
  std::optional<GpuWarning> chunk_done(const DeviceMemory& memory);
  // Returns warnings if the card is nearly full, or idle while a worker encodes rows (`encoding`).
  std::vector<GpuWarning> sampled(Clock::time_point now, const GpuSample& sample, bool encoding);

 private:
  std::optional<GpuWarning> check_full(const GpuSample& sample);
  std::optional<GpuWarning> check_idle(Clock::time_point now, const GpuSample& sample,
                                       bool encoding);

  size_t chunks_ = 0;
  std::vector<int64_t> first_;  // the reserved bytes after each of the chunks after the warm-up
  std::deque<int64_t> last_;    // the reserved bytes after each of the last chunks
  bool creeping_ = false;
  bool full_ = false;
  bool idle_ = false;
  std::optional<Clock::time_point> idle_since_;
};

}  // namespace encode
