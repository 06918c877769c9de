// Reads the inputs of an experiment: small ones to their end, and the beginning of large ones.
#pragma once

#include "preflight/experiment.h"
#include "preflight/findings.h"

namespace encode {

// Fills the streams of the experiment, apart from the identity. Removes a stream whose input cannot
// be used, after a red finding.
void check_inputs(CheckedExperiment& experiment, PreflightFindings& findings);

// Checks the inputs of the streams that `experiment` lacks because their model or options cannot be
// used, so that one call names everything that is missing. Tokenizes nothing.
void check_other_inputs(const RunConfig& config, const CheckedExperiment& experiment,
                        PreflightFindings& findings);

}  // namespace encode
