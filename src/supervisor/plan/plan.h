// What a run will do, known before anything is encoded: models opened, inputs counted, fingerprints
// made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

#include "supervisor/report/run_log.h"

namespace encode {

struct StreamPlan {
  StreamConfig config;     // `input.path` is a file: a copy of standard input if it must be
  std::string model_path;  // the model directory, absolute
  EffectiveResult effective;
  InputScan scan;
  StreamIdentity identity;
  std::string final_path;
  std::string rejected_path;  // "" where no row was rejected
};

struct CombinePlan {
  std::string name;             // "train_combined"
  std::vector<size_t> streams;  // indices into RunPlan::streams
  std::string path;
};

struct RunPlan {
  std::vector<StreamPlan> streams;
  std::vector<CombinePlan> combine;
};

enum class PlanPurpose {
  kRun,    // requires the CacheLock: spools standard input and lists rejected rows in the cache
           // directory
  kAudit,  // writes nothing there but the cache of file hashes; no input may be standard input
};

// Opens the models and reads every input once (in parallel). Throws what its parts throw, and Error
// kData where the streams of a combined matrix have different numbers of rows.
RunPlan make_plan(const RunConfig& config, PlanPurpose purpose, RunLog& log);

// Names and places that follow from the config alone.
std::string combined_name(const CombineConfig& combine);  // "train_combined"
std::string final_path_of(const RunConfig& config, const std::string& stream_name);

}  // namespace encode
