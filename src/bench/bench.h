// `encode bench`: how fast an experiment is on this machine, and how far from what the machine
// could do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/batch_plan.h"
#include "encode/config.h"
#include "encode/device.h"
#include "encode/product_rates.h"
#include "encode/stage_seconds.h"

#include "supervisor/report/terminal.h"
#include "supervisor/run.h"

namespace encode {

struct BenchOptions {
  int64_t rows = 1000;         // of each stream, from its beginning
  int64_t runs = 3;            // of each config
  double product_seconds = 2;  // of the products alone, before and after each run
};

// A stream and the batches that it was encoded in.
struct StreamBatches {
  std::string stream;
  BatchPlan plan;

  bool operator==(const StreamBatches&) const = default;
};

// One run of the whole experiment, and the products before and after it.
struct BenchTurn {
  double seconds = 0;         // from the config to the published finals
  double cpu_seconds = 0;     // of all processes
  double start_seconds = 0;   // before the first row and between streams
  double finish_seconds = 0;  // from the last commit: finals
  StageSeconds stages;        // of all streams
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t truncated_rows = 0;
  int64_t token_slots = 0;
  int64_t peak_host_bytes = 0;
  int64_t peak_device_bytes = 0;
  double whole_seconds = 0;  // that all rows of the inputs would take
  ProductRates products;     // of batches of the first stream, the mean of before and after
};

// A config and what became of it.
struct BenchResult {
  std::string dtype;
  int64_t batch_tokens = 0;            // as asked for; 0: chosen for the device
  std::vector<StreamBatches> batches;  // as the worker planned them
  std::vector<BenchTurn> turns;
};

struct BenchReport {
  std::string model;    // as the config names it
  std::string machine;  // its name in the network
  DeviceFacts device;
  int64_t rows = 0;  // timed
  int64_t whole_rows = 0;
  std::vector<BenchResult> results;
  std::vector<std::string> notes;  // sentences
};

struct BenchEnd {
  int stopped_by = 0;  // the signal; 0: the report is complete
  BenchReport report;
};

// Runs each of `configs` turn by turn: the real job with the real worker, into a temporary folder
// beside the configs' cache directory, which is removed whatever happens (SIGKILL aside). Neither
// cache nor finals of the configs are read or written. The configs differ in dtype and batch_tokens
// alone. Progress goes to `err` as far as the first config's `log` allows. Throws what
// run_experiment() throws, Error kUsage for standard input, kData where no stream has a row. Call
// it from the main thread.
BenchEnd run_bench(const std::vector<RunConfig>& configs, const BenchOptions& options,
                   const RunEnvironment& environment, Terminal& err);

}  // namespace encode
