// Plans a run before anything is encoded: opens the models, scans the inputs and makes the
// fingerprints. One thread at a time may call these functions.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

#include "base/standard_input_name.h"
#include "run_plan/memory/memory_estimate.h"
#include "run_plan/output_guard.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "text/field_blocks.h"

namespace encode {

struct StreamPlan {
  StreamConfig config;          // `input.path` is a file, even if the input is standard input
  bool standard_input = false;  // the file is a copy of standard input
  std::string model_path;       // the absolute path of the model directory
  std::vector<FileHash> model_files;
  EffectiveResult effective;
  int64_t position_limit = 0;  // ModelDirectory::position_limit
  InputScan scan;
  bool sharded = false;  // true: `scan` and `identity` are those of a shard
  // The hashes of the columns that the final matrix copies from the input. Only for a shard, and
  // for the division into shards.
  FieldBlocks field_blocks = {};
  StreamIdentity identity;
  std::string final_path;
  std::string rejected_path;  // see ScannedInput
  int64_t chunk_rows = 0;     // of a new chunk; chunks on disk keep their size
  std::string chunk_reason;   // why ChunkSizes chose `chunk_rows`; "" without `chunk_size: auto`

  // Returns the name of the input for messages.
  std::string input_name() const { return standard_input ? kStandardInputName : config.input.path; }
};

struct Shard;  // see shard_plan.h

struct CombinePlan {
  std::string name;             // "train_combined"
  std::vector<size_t> streams;  // indices into RunPlan::streams
  std::string path;
};

struct RunPlan {
  std::vector<StreamPlan> streams;
  std::vector<CombinePlan> combine;
  std::set<std::string> probed = {};  // directories that probe_once() has tried; only for kRun
};

enum class PlanPurpose {
  // Copies standard input to the cache directory and writes the lists of rejected rows there.
  // Requires the CacheLock.
  kRun,
  // As kRun, for a plan of shards. The machine that plans encodes nothing and need not have the
  // devices of the run. No input may be standard input.
  kDivide,
  // Writes only the hashes of model files to the cache directory. No input may be standard input.
  kAudit,
};

// Looks for the driver of the devices, opens the models, checks the outputs of a run, and then
// reads every input once, several inputs at a time. Throws the errors of require_driver(),
// resolve_model(), open_model_directory(), effective_result(), OutputGuard, require_tables(),
// check_output_directories(), spool_standard_input(), scan_inputs() and require_columns(). Also
// throws Error:
//   kConfig  a stream of a combined matrix has token embeddings, or rows of token ids have a prompt
//   kData    the streams of a combined matrix have different numbers of rows
//
// With `shard`, the plan is for the rows of this shard, and the config must have the settings of
// its plan (require_plan_of()). The inputs are not read, because the plan of the shards has their
// scans. Then also throws Error kConfig "shards.foreign" if that plan was made with another model.
RunPlan make_plan(const RunConfig& config, PlanPurpose purpose, RunLog& log,
                  const Shard* shard = nullptr);

// Adds the files that a run reads, except for the models, to the guard.
void protect_inputs(const RunConfig& config, OutputGuard& guard);

}  // namespace encode
