// Checks the directories of models, their tokenizers, and the result options of the streams.
#pragma once

#include <string>

#include "encode/config.h"

#include "preflight/experiment.h"
#include "preflight/findings.h"

namespace encode {

// Opens and hashes the model of these options, unless `experiment` has it. Returns null after a red
// finding. `hash_cache` is for hash_model_files().
const CheckedModel* check_model(const ResultOptions& options, const std::string& hash_cache,
                                CheckedExperiment& experiment, PreflightFindings& findings);

// Adds a stream for each stream of the config whose model and options are good.
void check_streams(const RunConfig& config, const std::string& hash_cache,
                   CheckedExperiment& experiment, PreflightFindings& findings);

}  // namespace encode
