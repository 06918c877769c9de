// Plans a run before anything is encoded: opens the models, scans the inputs and makes the
// fingerprints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

#include "run_plan/memory/memory_estimate.h"
#include "run_plan/output_guard.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"

namespace encode {

struct StreamPlan {
  StreamConfig config;     // `input.path` is a file, even if the input is standard input
  std::string model_path;  // the absolute path of the model directory
  std::vector<FileHash> model_files;
  EffectiveResult effective;
  int64_t position_limit = 0;  // ModelDirectory::position_limit
  InputScan scan;
  StreamIdentity identity;
  std::string final_path;
  std::string rejected_path;  // see ScannedInput
  int64_t chunk_rows = 0;     // of a new chunk; chunks on disk keep their size. Only for kRun
  std::string chunk_reason;   // why `chunk_rows` was chosen; "" if the config gives the number
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
  // Copies standard input to the cache directory and writes the lists of rejected rows there.
  // Requires the CacheLock.
  kRun,
  // Writes only the hashes of model files to the cache directory. No input may be standard input.
  kAudit,
};

// Opens the models, checks the outputs of a run, and reads every input once, several inputs at a
// time. Throws the errors of resolve_model(), open_model_directory(), effective_result(),
// OutputGuard, require_tables(), spool_standard_input(), scan_inputs() and require_columns(). Also
// throws Error:
//   kConfig  a stream of a combined matrix has token embeddings, or rows of token ids have a prompt
//   kData    the streams of a combined matrix have different numbers of rows
RunPlan make_plan(const RunConfig& config, PlanPurpose purpose, RunLog& log);

// Adds the files that a run reads, apart from the models, to the guard.
void protect_inputs(const RunConfig& config, OutputGuard& guard);

}  // namespace encode
