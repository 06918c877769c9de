#include "shards/work_lock.h"

#include <utility>

#include "supervisor/run_lock.h"

namespace encode {

CacheLock lock_plan(const std::string& cache_dir, RunLog& log) {
  CacheLock lock = CacheLock::acquire(cache_dir, CacheLock::Need::kIfPossible);
  if (!lock.excludes()) warn_of_no_locks(cache_dir, log);
  return lock;
}

std::unique_ptr<const CacheLock> lock_work(const std::string& folder,
                                           const std::function<void(ErrorDetail&)>& explain) {
  try {
    return std::make_unique<const CacheLock>(CacheLock::acquire(folder));
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    if (detail.code == "store.lock") return nullptr;
    if (detail.code == "store.locked") explain(detail);
    throw Error(std::move(detail));
  }
}

}  // namespace encode
