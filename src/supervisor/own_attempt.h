// `encode run` without --shard. Where other processes may write to the cache directory or to the
// output and their locks may not be seen, the run works in an attempt of its own
// (store/attempt_folders.h): it takes over the committed chunks of earlier runs, and publishes only
// finished matrices (store/attempt_final.h). So no run can damage what another one has committed or
// published, whether or not the locks work. Everywhere else it works in the cache directory, under
// its lock.
#pragma once

#include <string>

#include "encode/config.h"

#include "run_record/terminal.h"
#include "supervisor/run.h"

namespace encode {

// Returns where the locks of other runs may not be seen: "out/x.npy is on NFS"; "" if nowhere, as
// far as the kinds of the file systems tell. Throws no Error.
std::string place_without_safe_locks(const StoreOptions& store);

// Does what run_experiment() does, and throws what it throws. The attempt stays after an
// interruption, for the next run. Throws Error kTempFail "store.locked" if another run is known to
// work in the cache directory. Call it from the main thread.
RunEnd run_where_safe(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                      Terminal& out);

}  // namespace encode
