// What the worker tells the supervisor, one JSON object a line on a pipe.
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

// `unit` is an index into JobSpec::units in all of them.

struct ModelLoaded {
  int64_t unit = 0;
  DeviceFacts device;
  int64_t dim = 0;
  double seconds = 0;
  std::string tokenizer;  // in words; "" when every row is token ids
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

// Sent from the result of a batch, never from a timer: the worker's sign of life.
struct BatchDone {
  int64_t unit = 0;
  int64_t rows_done = 0;  // of the unit, encoded by this worker so far
  int64_t tokens_done = 0;
};

struct ChunkDone {
  int64_t unit = 0;
  int64_t chunk = 0;
  RowRange rows;
  std::string path;
  int64_t file_bytes = 0;
  double seconds = 0;  // its share of the time that its windows took to encode
  RowStats stats;
  DeviceMemory memory;  // after the allocator's cache was released
  int64_t host_rss_bytes = 0;
};

struct UnitDone {
  int64_t unit = 0;
  int64_t rows_done = 0;  // encoded by this worker, as are the tokens and stages below
  RowStats stats;
  StageSeconds stages;
  int64_t token_slots = 0;        // that the device computed; beyond the tokens: padding
  int64_t device_peak_bytes = 0;  // allocated at most, since the worker began
};

struct ProductsTimed {
  int64_t unit = 0;
  ProductRates rates;
};

struct LogLine {
  std::string level;  // "debug", "info", "warning", "error"
  std::string message;
};

// The worker exits with error.exit_code next.
struct WorkerFailed {
  ErrorDetail error;
};

// Everything that the job says is done; the worker exits with 0 next.
struct WorkerFinished {};

using WorkerEvent = std::variant<ModelLoaded, UnitStarted, ChunkStarted, BatchDone, ChunkDone,
                                 UnitDone, ProductsTimed, LogLine, WorkerFailed, WorkerFinished>;

// One line that ends in '\n'. Bytes that are not UTF-8 become U+FFFD.
std::string to_json_line(const WorkerEvent& event);
WorkerEvent worker_event_from_json(std::string_view line);  // throws Error kInternal

// Several lambdas as one, for std::visit: each event goes to the lambda that takes it.
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace encode
