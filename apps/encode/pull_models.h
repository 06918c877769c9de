// Downloads the models of a config that are not on this machine (`encode run --pull`).
#pragma once

#include "encode/config.h"

#include "run_record/terminal.h"

namespace encode {

// Downloads the model of each stream that is a hub id and that resolve_model() does not find, or of
// which a file is missing. Uses no network if there is none. Writes what it does to `err`. Throws
// what hub::hub_settings() and hub::pull() throw.
void pull_missing_models(const RunConfig& config, Terminal& err);

}  // namespace encode
