// The log of the memory of a run over time: <cache>/memory.jsonl. docs/store-format.md describes
// the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "encode/device.h"
#include "encode/stage_seconds.h"

#include "base/json.h"
#include "run_record/gpu_watch.h"
#include "run_record/record_file.h"

namespace encode {

struct MemorySample {
  int64_t time = 0;                  // seconds since 1970
  int64_t milliseconds = 0;          // the fraction of `time`, below 1000
  int64_t worker_bytes = 0;          // the resident memory of the worker after its last chunk
  int64_t host_available_bytes = 0;  // see HostMemory
  int64_t host_limit_bytes = 0;
  DeviceMemory device = {};      // after the last chunk; all zero on a CPU
  GpuSample gpu = {};            // what the driver says; nothing is known on a CPU
  bool pressed = false;          // see MemoryPressure
  double tokens_per_second = 0;  // see Progress; 0: not known
  int64_t tokens = -1;           // that all workers have encoded since the run began; -1: not known
  // The sum over all workers since the run began; all 0: not known.
  StageSeconds stages = {};
};

Json to_json(const MemorySample& sample);
Json to_json(const GpuWarning& warning);

// Not thread-safe. See RecordFile for the size, for failures to write and for the lock.
class MemoryLog {
 public:
  // `path` is RunFiles::memory(). `on_problem` gets one sentence, at most once.
  MemoryLog(const std::string& path, std::function<void(const std::string&)> on_problem);

  // Appends a sample with the present time. Throws no Error.
  void add(const MemorySample& sample);
  // Appends a warning with the present time. Throws no Error.
  void add(const GpuWarning& warning);

 private:
  RecordFile file_;
};

struct MemoryHistory {
  std::vector<MemorySample> samples;  // oldest first
  std::vector<GpuWarning> warnings;   // oldest first
  std::vector<std::string> problems;  // one sentence for each thing that cannot be read
};

// Reads the samples while a run may be writing them. Ignores keys that it does not know. A missing
// file has no samples. Both throw no Error.
MemoryHistory read_memory(const std::string& path);
Records read_memory_records(const std::string& path);
// `path` is for messages. Throws no Error.
MemoryHistory memory_history(Records records, const std::string& path);

}  // namespace encode
