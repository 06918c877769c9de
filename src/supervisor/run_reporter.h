// Turns the worker's events into log lines, the progress line, status.json and memory.jsonl. Throws
// no Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encode/stage_seconds.h"
#include "encode/worker_event.h"

#include "base/host.h"
#include "base/stopwatch.h"
#include "run_record/gpu_sampler.h"
#include "run_record/gpu_watch.h"
#include "run_record/memory_log.h"
#include "run_record/progress.h"
#include "run_record/run_command.h"
#include "run_record/run_log.h"
#include "run_record/status_file.h"
#include "run_record/summary.h"
#include "supervisor/worker/worker_name.h"

namespace encode {

// One unit of a worker's job.
struct UnitProgress {
  size_t stream = 0;  // index into RunPlan::streams
  std::string name;
  std::string input_path;
  int64_t rows = 0;
  int64_t rows_before = 0;  // the rows that were committed when the worker started
  int64_t chunks = 0;
  bool chunk_files = true;            // false: standard mode
  std::string_view sequence = "row";  // what the model encodes at once
};

// The tokens of a stream that all workers of this run have encoded, and the time they took.
struct StreamRate {
  int64_t tokens = 0;
  double seconds = 0;
};

// Not thread-safe.
class RunReporter {
 public:
  // `streams` is the number of streams in the plan. The other arguments must outlive the reporter.
  RunReporter(RunLog& log, Progress& progress, const RunConfig& config, size_t streams);

  // `units` are in the order of JobSpec::units. A worker with the same number must have ended.
  void worker_started(const WorkerName& name, std::vector<UnitProgress> units);
  // Gives a worker that runs another name for messages.
  void name_worker(const WorkerName& name) { workers_[name.number].label = name.label; }
  void event(size_t worker, const WorkerEvent& event);
  void output(size_t worker, std::string_view line);  // a line that the worker printed
  // `line` came through the event pipe and is not a valid event; `why` is the reason.
  void garbage(std::string_view line, const std::string& why);
  void tick(Clock::time_point now);  // must be called several times a second
  void worker_ended(size_t worker);
  // `restarts` is the number of restarts of this worker's device without progress.
  void restarted(size_t worker, int64_t restarts);
  void device_lost(size_t worker) { workers_[worker].state = WorkerState::kLost; }

  // Writes `phase` to status.json at once. `error` may be null. Must not be called before the run
  // begins to encode; see StatusFile::keep_earlier().
  void phase(RunPhase phase, const ErrorDetail* error);
  // `stream` is below the number of streams. The reference is valid as long as the reporter.
  const StreamRate& rate(size_t stream) const { return rates_[stream]; }
  // Returns the largest resident memory of the workers of each device, summed over the devices.
  int64_t worker_peak_bytes() const;
  const PressureTotals& pressure() const { return pressure_; }
  // Returns the rows that the last worker of each device had computed and not saved when it ended.
  int64_t unsaved_rows() const;
  // The longest time between two samples of the memory, and between two lines about it in the log.
  static constexpr auto kMemoryInterval = std::chrono::seconds(60);
  RunCommand command = {};  // is written to status.json
  // How often the driver is asked about a GPU.
  std::chrono::milliseconds gpu_interval = std::chrono::seconds(10);

 private:
  struct Worker {
    std::string label;
    WorkerState state = WorkerState::kLoading;
    std::string device = {};  // DeviceFacts::name
    std::vector<UnitProgress> units = {};
    int64_t unit = -1;  // the unit that is being encoded; -1: none
    int64_t chunk = -1;
    // The chunks of the current window, if the log has not announced them yet. `opened` is the
    // event of the first chunk, but with the rows of all these chunks.
    std::optional<ChunkStarted> opened = {};
    int64_t last_opened = -1;
    // The rows of `unit` that the worker has encoded, and how many of them are committed.
    int64_t rows = 0;
    int64_t tokens = 0;
    int64_t committed_rows = 0;
    int64_t unsaved_rows = 0;  // when the worker ended
    StageSeconds stages = {};  // of `unit`
    MemorySample memory = {};  // `time` and the host's memory are not set
    int64_t peak_bytes = 0;
    int64_t restarts = 0;
    GpuWatch gpu_watch = {};
    std::unique_ptr<GpuSampler> gpu_sampler = {};  // null if the worker computes on a CPU

    // Returns "cuda:1: ", or "" if the run has one device.
    std::string prefix() const { return label.empty() ? "" : label + ": "; }
    const UnitProgress& unit_of(int64_t number) const { return units[static_cast<size_t>(number)]; }
  };
  // The time in which at least one worker encodes a stream.
  struct ActiveTime {
    int64_t workers = 0;
    Stopwatch watch;
  };

  void on(Worker& worker, const ModelLoaded& event);
  void on(Worker& worker, const UnitStarted& event);
  void on(Worker& worker, const ChunkStarted& event);
  void on(Worker& worker, const ProbeStarted& event);
  void on(Worker& worker, const BatchDone& event);
  void on(Worker& worker, const ChunkDone& event);
  static void on(Worker& worker, const WindowStarted& event) { worker.stages = event.stages; }
  static void on(Worker& worker, const WorkerRetired& event) { worker.stages = event.stages; }
  void on(Worker& worker, const UnitDone& event);
  void on(Worker& worker, const CacheUsed& event);
  void on(Worker& worker, const LogLine& line);
  void on(Worker& worker, const MemoryPressure& event);
  // The reporter ignores the other events. WorkerSession takes ModelLoading as a sign of life and
  // turns WorkerFailed and WorkerFinished into the WorkerOutcome, `encode bench` reads
  // ProductsTimed, `encode preflight` DeviceChecked and DefenceTried, and recovery logs the rest.
  template <typename Event>
  static void on(Worker& /*worker*/, const Event& /*event*/) {}
  void set_pressed(Worker& worker, bool pressed);
  void announce_chunks(Worker& worker);
  void log_chunk(const Worker& worker, const ChunkDone& event);
  void log_cache(const UnitProgress& unit);
  void measure(Worker& worker);
  void sample_gpu(Worker& worker);
  void take(Worker& worker, const GpuSample& sample);
  void warn(const Worker& worker, const GpuWarning& warning);
  HostMemory record_memory();
  void sample_memory(Clock::time_point now);
  void log_memory(Clock::time_point now);
  int64_t rows_done(const UnitProgress& unit) const;
  StageSeconds stages() const;
  Json status() const;
  Json worker_states() const;

  RunLog& log_;
  Progress& progress_;
  StatusFile status_;
  MemoryLog memory_log_;
  const std::string config_path_;
  const bool has_memory_limit_;  // HardwareOptions::memory_limit_bytes is set
  const int64_t started_;        // seconds since 1970
  PressureTotals pressure_;
  Stopwatch pressure_watch_;  // runs while a worker is short of host memory
  std::vector<StreamRate> rates_;
  std::vector<CacheCounts> cache_counts_;  // of each stream
  StageSeconds measured_stages_;           // the stages of finished units, see measure()
  std::map<size_t, Worker> workers_;
  std::vector<UnitProgress> units_;      // of the worker that was started last
  std::map<size_t, int64_t> committed_;  // stream -> committed rows
  std::map<size_t, ActiveTime> active_;  // by stream
  std::set<size_t> announced_;           // the streams that the log has announced
  int64_t rows_ = 0;                     // the rows that all workers have encoded
  int64_t tokens_ = 0;
  int64_t garbage_lines_ = 0;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point memory_logged_ = begun_;
  Clock::time_point memory_sampled_ = begun_;
};

}  // namespace encode
