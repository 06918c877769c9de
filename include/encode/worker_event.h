// The messages that the worker sends to the supervisor through a pipe. Each is a line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "encode/batch_plan.h"
#include "encode/device.h"
#include "encode/error.h"
#include "encode/product_rates.h"
#include "encode/stage_seconds.h"
#include "encode/store.h"

namespace encode {

// In all messages `unit` is an index into JobSpec::units, and `host_rss_bytes` is the resident
// memory of the worker.

struct ModelLoaded {
  int64_t unit = 0;
  DeviceFacts device;
  int64_t dim = 0;
  double seconds = 0;     // the time that loading took
  std::string tokenizer;  // Tokenizer::description(); "" if every row consists of token ids
  int64_t host_rss_bytes = 0;
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
  DeviceMemory memory;  // after the allocator's cache was released
  int64_t host_rss_bytes = 0;
};

// All numbers count only what this worker has done.
struct UnitDone {
  int64_t unit = 0;
  int64_t rows_done = 0;
  RowStats stats;
  StageSeconds stages;
  int64_t token_slots = 0;        // the token positions that were computed, padding included
  int64_t device_peak_bytes = 0;  // DeviceMemory::peak_allocated_bytes
};

struct ProductsTimed {
  int64_t unit = 0;
  ProductRates rates;
};

struct LogLine {
  std::string level;  // "debug", "info", "warning", "error"
  std::string message;
};

// The job has failed. The worker exits with error.exit_code next.
struct WorkerFailed {
  ErrorDetail error;
};

// The whole job is done. The worker exits with 0 next.
struct WorkerFinished {};

using WorkerEvent = std::variant<ModelLoaded, UnitStarted, ChunkStarted, BatchDone, ChunkDone,
                                 UnitDone, ProductsTimed, LogLine, WorkerFailed, WorkerFinished>;

// Returns one line that ends in '\n'. U+FFFD replaces bytes that are not UTF-8.
std::string to_json_line(const WorkerEvent& event);
// Throws Error kInternal "job.protocol" for a line that is not an event.
WorkerEvent worker_event_from_json(std::string_view line);

// Joins several lambdas into one visitor for std::visit().
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace encode
