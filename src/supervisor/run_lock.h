// The lock of a run on its cache directory. Any thread may call these functions.
#pragma once

#include <string>

#include "encode/config.h"
#include "encode/store.h"

#include "run_record/run_log.h"

namespace encode {

// Takes the lock. No other run writes to the cache directory of an attempt at a shard, so there the
// file system needs no locks. But the workers of several devices divide the chunks by locks. Throws
// what CacheLock::acquire() throws, and Error kIoError "store.lock" for several devices on a file
// system without locks.
CacheLock lock_cache(const RunConfig& config, bool is_attempt);

// Warns that a lock excludes nobody.
void warn_of_no_locks(const std::string& cache_dir, RunLog& log);

}  // namespace encode
