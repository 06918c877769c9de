// The messages that the worker sends to the supervisor through a pipe. Each message is a line of
// JSON. Before the first message, the worker sends a greeting (protocol/same_build.h). Any thread
// may call the functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "encode/batch_plan.h"
#include "encode/cache_counts.h"
#include "encode/device.h"
#include "encode/error.h"
#include "encode/log_level.h"
#include "encode/product_rates.h"
#include "encode/stage_seconds.h"
#include "encode/store.h"

namespace encode {

// In all messages `unit` is an index into JobSpec::units, and `host_rss_bytes` is the resident
// memory of the worker.

// Shows that the worker makes progress while it loads a model: it is sent when a tensor was read or
// a check of the model has ended, and never by a timer.
struct ModelLoading {};

// Compares a quantized type (int8, fp8) with the exact type: how close are the vectors of fixed
// texts to each other? A quantized type whose vectors are not close enough is refused.
struct Parity {
  double cosine =
      1;  // the least cosine of a text; 1: the type is exact; -1: a vector is not finite
  double least = -1;  // `encode run` refuses a model with a lower cosine

  bool refused() const { return cosine < least; }
  bool operator==(const Parity&) const = default;
};

// The model is loaded, and has passed its checks. With JobSpec::measure_refused it may have failed
// the check of its parity.
struct ModelLoaded {
  int64_t unit = 0;
  DeviceFacts device;
  int64_t dim = 0;
  double seconds = 0;     // the time that loading took
  std::string tokenizer;  // Tokenizer::description(); "" if every row consists of token ids
  int64_t host_rss_bytes = 0;
  Parity parity = {};
};

struct UnitStarted {
  int64_t unit = 0;
  BatchPlan plan;
};

struct ChunkStarted {
  int64_t unit = 0;
  int64_t chunk = 0;
  RowRange rows;
};

// The worker begins to encode a window. Before it launches the first batches of the next window, it
// sends the event again, with the rows of that window in `ahead`. If it fails before the next event
// of this kind, all of these rows are suspected.
struct WindowStarted {
  int64_t unit = 0;
  RowRange rows;
  StageSeconds stages = {};  // what this worker has spent on the unit so far
  RowRange ahead = {};       // the rows of the next window; empty: it has no launched batches
};

// Sent before and after the worker encodes a part of JobUnit::probe.
struct ProbeStarted {
  int64_t unit = 0;
  RowRange rows;
};
struct ProbeDone {
  int64_t unit = 0;
  RowRange rows;
};

// The device had too little memory for a batch. The worker goes on with smaller batches.
struct BatchHalved {
  int64_t unit = 0;
  int64_t budget_tokens = 0;  // the new BatchPlan::budget_tokens
};

// The worker goes on without these rows.
struct RowsSetAside {
  int64_t unit = 0;
  std::vector<SetAsideRow> rows;
};

// Shows that the worker makes progress: it is sent after a batch, and never by a timer.
struct BatchDone {
  int64_t unit = 0;
  int64_t rows_done = 0;  // the rows of the unit that this worker has encoded so far
  int64_t tokens_done = 0;
};

struct ChunkDone {
  int64_t unit = 0;
  int64_t chunk = 0;
  RowRange rows;
  std::string path;
  int64_t file_bytes = 0;
  double seconds = 0;  // the chunk's share of the time that its windows took to encode
  RowStats stats;
  DeviceMemory memory;  // at the end of the last window, after a release if there was one
  int64_t host_rss_bytes = 0;
};

// All numbers count only what this worker has done.
struct UnitDone {
  int64_t unit = 0;
  int64_t rows_done = 0;
  RowStats stats;
  StageSeconds stages;
  int64_t token_slots = 0;        // the computed positions, with padding, and the reused tokens
  int64_t device_peak_bytes = 0;  // DeviceMemory::peak_allocated_bytes
};

// Rows have got their vectors from equal rows. The counts add to those of earlier events.
struct CacheUsed {
  int64_t unit = 0;
  CacheCounts counts;
};

// Something is wrong with the embedding cache.
struct CacheProblem {
  ErrorDetail error;
  bool off = true;  // the worker goes on without the cache
};

struct ProductsTimed {
  int64_t unit = 0;
  ProductRates rates;
};

// The device that a job with JobSpec::check_only has opened, and the settings that apply in the
// worker.
struct DeviceChecked {
  DeviceFacts device;
  std::string allocator;              // the settings of LibTorch's CUDA allocator; "" on a CPU
  bool synchronous_launches = false;  // CUDA_LAUNCH_BLOCKING is set
};

// A job with JobSpec::check_only has tried a defence against a fault.
struct DefenceTried {
  std::string name;  // one of the names in job/defences.h
  bool works = false;
  std::string found;  // what happened: one phrase
};

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string message;
};

// The job has failed. The worker exits with error.exit_code next.
struct WorkerFailed {
  ErrorDetail error;
};

// The whole job is done. The worker exits with 0 next.
struct WorkerFinished {};

// The worker exits with 0 next, although rows are left for another worker. Everything that it has
// encoded is committed.
struct WorkerRetired {
  std::string reason;        // one sentence for the log
  StageSeconds stages = {};  // what the worker has spent on its last unit
};

// The host has begun, or has ceased, to have little memory left; see PressureGuard.
struct MemoryPressure {
  bool pressed = false;
  double used_percent = 0;  // HostMemory::used_percent()
  int64_t available_bytes = 0;
};

using WorkerEvent =
    std::variant<ModelLoading, ModelLoaded, UnitStarted, ChunkStarted, WindowStarted, ProbeStarted,
                 ProbeDone, BatchDone, BatchHalved, RowsSetAside, ChunkDone, UnitDone, CacheUsed,
                 CacheProblem, ProductsTimed, DeviceChecked, DefenceTried, LogLine, WorkerFailed,
                 WorkerFinished, WorkerRetired, MemoryPressure>;

// Returns one line that ends in '\n'. U+FFFD replaces bytes that are not UTF-8.
std::string to_json_line(const WorkerEvent& event);
// Throws Error kInternal "worker.garbage" for a line that is no message, and kConfig "job.protocol"
// for a message that this build does not write.
WorkerEvent worker_event_from_json(std::string_view line);

// Joins several lambdas into one visitor for std::visit().
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace encode
