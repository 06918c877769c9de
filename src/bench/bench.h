// `encode bench` measures how fast an experiment runs on this machine, and compares this with the
// speed of the matrix products alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/batch_plan.h"
#include "encode/config.h"
#include "encode/device.h"
#include "encode/product_rates.h"
#include "encode/stage_seconds.h"
#include "encode/worker_event.h"

#include "run_record/terminal.h"
#include "supervisor/run.h"

namespace encode {

struct BenchOptions {
  int64_t rows = 1000;         // the first rows of each stream, which are timed
  int64_t runs = 3;            // the number of runs of each config
  double product_seconds = 2;  // to time the matrix products alone, before and after each run
  // Measures a quantized type although `encode run` refuses it for the model. The report then says
  // so.
  bool measure_refused = false;
};

// A stream and the plan of its batches.
struct StreamBatches {
  std::string stream;
  BatchPlan plan;

  bool operator==(const StreamBatches&) const = default;
};

// One run of the whole experiment. The matrix products alone are timed before and after it.
struct BenchTurn {
  double seconds = 0;  // wall-clock time from reading the config to the published final matrices
  double cpu_seconds = 0;     // CPU time of all processes
  double start_seconds = 0;   // wall-clock time before the first row and between streams
  double finish_seconds = 0;  // wall-clock time after the last commit: final matrices are written
  StageSeconds stages;        // the sum over all streams
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t truncated_rows = 0;
  int64_t token_slots = 0;  // tokens and padding
  int64_t peak_host_bytes = 0;
  int64_t peak_device_bytes = 0;
  double whole_seconds = 0;  // an estimate of the time for all rows of the inputs
  ProductRates products;     // for batches of the first stream; the mean of the two measurements
};

// The runs of one config.
struct BenchResult {
  std::string dtype;
  int64_t batch_tokens = 0;            // from the config; 0: encode chooses a size for the device
  std::vector<StreamBatches> batches;  // as the worker planned them
  Parity parity = {};                  // the lowest of all models
  std::vector<BenchTurn> turns;
};

struct BenchReport {
  std::string model;    // the name in the config
  std::string machine;  // the host name
  DeviceFacts device;
  int64_t rows = 0;        // the rows that are timed, of all streams
  int64_t whole_rows = 0;  // all rows of the inputs
  std::vector<BenchResult> results;
  std::vector<std::string> notes;  // sentences for the reader of the report
};

struct BenchEnd {
  int stopped_by = 0;  // the signal that stopped the bench; 0 if the report is complete
  BenchReport report;
};

// Runs each config BenchOptions::runs times, alternating between the configs, as real jobs with the
// real worker. The jobs write into a temporary folder beside the cache directory of the first
// config. The folder is removed at the end, unless SIGKILL ends the process. The caches and the
// final matrices of the configs are neither read nor written. The configs may differ only in dtype
// and batch_tokens. Progress goes to `err` if the `log` settings of the first config allow it.
// Throws what run_experiment() throws, Error kUsage "bench.stdin" for standard input, and kData
// "bench.rows" if a stream has no rows. Must be called from the main thread.
BenchEnd run_bench(const std::vector<RunConfig>& configs, const BenchOptions& options,
                   const RunEnvironment& environment, Terminal& err);

}  // namespace encode
