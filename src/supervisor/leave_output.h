// The end of a run with --output. One thread at a time may call the function.
#pragma once

#include "encode/config.h"

#include "run_plan/plan.h"
#include "run_record/run_log.h"

namespace encode {

// If the cache directory is the run's own (has_own_cache()), moves the files that a user needs
// beside the output and removes the rest. Keeps the directory if the chunks are kept.
// `encoded_nothing` says that the output was complete when the run began. Only warns if something
// cannot be removed.
void leave_output(const StoreOptions& store, const StreamPlan& stream, bool encoded_nothing,
                  RunLog& log);

}  // namespace encode
