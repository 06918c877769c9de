// Downloads models, for `encode pull` and `encode run --pull`.
#pragma once

#include "encode/config.h"

#include "hub/pull.h"
#include "run_record/terminal.h"

namespace encode {

// Does what hub::pull() does, and shows it on `err`: a live line on a terminal, or lines in a log.
hub::PullResult pull_model(const hub::PullRequest& request, const hub::HubSettings& settings,
                           Terminal& err);

// Downloads the models of the streams that are given as hub ids, if resolve_model() does not find
// the model or if one of its files is missing. Uses no network if no file is missing. Writes what
// it does to `terminal`, unless the run shows only errors. Throws what hub::hub_settings() and
// hub::pull() throw.
void pull_missing_models(const RunConfig& config, Terminal& terminal);

}  // namespace encode
