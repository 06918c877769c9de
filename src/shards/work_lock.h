// A lock that saves work and on which no result depends.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "encode/error.h"
#include "encode/store.h"

#include "run_record/run_log.h"

namespace encode {

// Takes the lock of a cache directory for a plan or a merge, and warns if the file system has no
// locks: both write the same files if they run twice at the same time. Throws what
// CacheLock::acquire() throws. Any thread may call it.
CacheLock lock_plan(const std::string& cache_dir, RunLog& log);

// Takes the lock of a folder, so that no other process does the same work there at the same time.
// Returns null if the file system has no locks. If another process has the lock, throws Error
// kTempFail "store.locked", which `explain` puts into the words of the caller. Also throws what
// CacheLock::acquire() throws. Any thread may call it.
std::unique_ptr<const CacheLock> lock_work(const std::string& folder,
                                           const std::function<void(ErrorDetail&)>& explain);

}  // namespace encode
