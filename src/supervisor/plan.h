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

#include "supervisor/run_log.h"

namespace encode {

struct StreamPlan {
  StreamConfig config;  // as in JobUnit: input.path is a file, result options are resolved
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

// Opens the models, reads every input once (in parallel) and writes <name>.rejected.jsonl where
// rows were rejected. Requires the CacheLock: standard input is spooled into the cache directory.
// Throws what its parts throw, and Error kData where the streams of a combined matrix have
// different numbers of rows.
RunPlan make_plan(const RunConfig& config, RunLog& log);

// The fingerprint of a stream: canonical JSON of how the input was read, of the model's files and
// of everything else that changes a number.
std::string stream_fingerprint(const StreamConfig& resolved, const InputScan& scan,
                               const EffectiveResult& effective, const std::string& model_identity);

// `options` with every value that `effective` decided written into it, so that it can be read
// without the directory.
ResultOptions resolved_options(const ResultOptions& options, const EffectiveResult& effective,
                               const std::string& model_path);

}  // namespace encode
