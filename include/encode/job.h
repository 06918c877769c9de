// What the supervisor (encode) hands to its child (encode-worker), and what the child reports back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"
#include "encode/product_rates.h"
#include "encode/stage_seconds.h"
#include "encode/store.h"
#include "encode/text.h"

namespace encode {

// One stream with work left. The worker opens its ChunkStore itself and encodes what is pending.
struct JobUnit {
  StreamConfig config;  // input.path is a real file; result options have been resolved against the
                        // model directory
  StreamIdentity identity;
  InputScan scan;
  int64_t chunk_rows = 0;
  bool chunk_files = true;  // false: standard mode, straight into final_path
  // Chunks below this number are encoded alone, where others may go through the device together:
  // one of them has failed, and this shows which.
  int64_t alone_below = 0;
  std::string final_path;
};

// Travels as JSON in a file; the worker gets its path.
struct JobSpec {
  std::string cache_dir;
  HardwareOptions hardware;
  std::vector<JobUnit> units;
  // Above 0: nothing is encoded. The matrix products of each unit's first batches are run by
  // themselves for about as many seconds, and kProducts tells how fast they were.
  double product_seconds = 0;
};

std::string to_json(const JobSpec& spec);
JobSpec job_spec_from_json(const std::string& json);  // throws Error kInternal

// One JSON object a line, from the worker's event pipe. Health is "a batch came back": kBatch is
// sent from the result of a batch, never from a timer.
struct WorkerEvent {
  enum class Kind {
    kModelLoaded,   // unit, device, dim, seconds, message: the tokenizer in words
    kUnitStarted,   // unit
    kChunkStarted,  // unit, chunk, rows
    kBatch,         // unit, rows_done (of the unit, encoded so far in this worker), tokens_done
    kChunkDone,  // unit, chunk, rows, path, file_bytes, seconds, stats, memory after the cache was
                 // released
    kUnitDone,   // unit, stats (of what this worker encoded), stages, token_slots, device peak
    kProducts,   // unit, products
    kMemory,     // device memory in use, host_rss_bytes
    kLog,        // level, message
    kError,      // error: the worker exits with error.exit_code next
    kFinished,
  };
  Kind kind = Kind::kLog;
  int64_t unit = 0;
  int64_t chunk = -1;
  RowRange rows;
  int64_t rows_done = 0;
  int64_t tokens_done = 0;
  int64_t dim = 0;
  int64_t file_bytes = 0;
  double seconds = 0;
  RowStats stats;
  int64_t device_allocated_bytes = 0;
  int64_t device_reserved_bytes = 0;
  int64_t device_peak_bytes = 0;  // allocated at most, since the worker began
  int64_t host_rss_bytes = 0;
  int64_t token_slots = 0;  // that the device computed; beyond the tokens: padding
  StageSeconds stages;
  ProductRates products;
  std::string device;
  std::string path;
  std::string level;
  std::string message;
  ErrorDetail error;
};

std::string to_json_line(const WorkerEvent& event);         // ends in '\n'
WorkerEvent worker_event_from_json(std::string_view line);  // throws Error kInternal

}  // namespace encode
