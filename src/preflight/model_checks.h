// Checks the directories of models, their tokenizers, and the result options of the streams.
#pragma once

#include <optional>
#include <string>

#include "encode/config.h"

#include "run_plan/memory/memory_refusal.h"
#include "preflight/experiment.h"
#include "preflight/findings.h"

namespace encode {

struct ModelNeeds {
  std::string hash_cache;            // for hash_model_files()
  std::optional<MemoryLimit> limit;  // of the device; see memory_limit_of()
};

// Opens and hashes the model of these options, unless `experiment` has it. Returns null after a red
// finding.
const CheckedModel* check_model(const ResultOptions& options, const ModelNeeds& models,
                                CheckedExperiment& experiment, PreflightFindings& findings);

// Adds a stream for each stream of the config whose model and options are good.
void check_streams(const RunConfig& config, const ModelNeeds& models, CheckedExperiment& experiment,
                   PreflightFindings& findings);

}  // namespace encode
