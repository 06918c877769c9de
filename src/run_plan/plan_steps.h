// The single steps of make_plan(), for `encode preflight`, which goes on after a step has failed.
// Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "run_plan/memory/memory_refusal.h"
#include "run_plan/plan.h"

namespace encode {

struct OpenedModel {
  ModelDirectory directory;
  std::vector<FileHash> files;

  int64_t bytes() const;  // the size of all files
};

// Throws the errors of open_model_directory() and hash_model_files().
OpenedModel open_hashed_model(const std::string& path, const std::string& hash_cache,
                              bool ignore_custom_code);

// Opens the model of these options, which is in the directory `path`. Throws Error "limit.memory"
// if it certainly does not fit, before its files are hashed, and the errors of open_hashed_model()
// and effective_result().
OpenedModel open_fitting_model(const std::string& path, const ResultOptions& options,
                               const std::optional<MemoryLimit>& limit,
                               const std::string& hash_cache);

// Throws the Error of a run that cannot list its inputs or append to its log file: an Error of
// input_files(), OutputGuard::check_log() or RunLog::open_file(). The log file may be in the cache
// directory, which may not exist yet.
void check_log(const RunConfig& config);

// Throws Error "output.exists" or "output.protected" if an output of the run would replace a file
// that is not its own. `guard` knows the models.
void check_outputs(const RunConfig& config, OutputGuard guard);

// Returns the plan of a stream without `scan` and `identity`. Throws the errors of
// effective_result().
StreamPlan begin_stream_plan(const RunConfig& config, const StreamConfig& stream,
                             const OpenedModel& model);
// Sets the identity of a stream whose `scan` is known. Throws Error kConfig "text.prompt_and_ids".
void finish_stream_plan(StreamPlan& stream, const OpenedModel& model);

// Throws Error "combine.pooling" or "combine.rows".
std::vector<CombinePlan> plan_combined_matrices(const RunConfig& config,
                                                const std::vector<StreamPlan>& streams);

}  // namespace encode
