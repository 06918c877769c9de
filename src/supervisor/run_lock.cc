#include "supervisor/run_lock.h"

#include <fmt/format.h>

#include "encode/error.h"

#include "base/units.h"

namespace encode {

CacheLock lock_cache(const RunConfig& config, bool is_attempt) {
  const std::string& cache_dir = config.store.cache_dir;
  if (!is_attempt) return CacheLock::acquire(cache_dir);
  CacheLock lock = CacheLock::acquire(cache_dir, CacheLock::Need::kIfPossible);
  const HardwareOptions& hardware = config.hardware;
  if (lock.excludes() || (hardware.devices.size() < 2 && !hardware.all_devices)) return lock;
  throw Error({.code = "store.lock",
               .what = "several devices cannot share the chunks of a run without locks",
               .where = cache_dir,
               .expected = "a file system with locks, by which the devices divide the chunks",
               .found = "a file system without locks",
               .hint =
                   "give each run of a shard one device, as in --device cuda:0, and run as many "
                   "shards at once as there are devices"});
}

void warn_of_no_locks(const std::string& cache_dir, RunLog& log) {
  log.warning("no_locks",
              fmt::format("the file system of {} has no locks, so two calls that do the same work "
                          "at the same time do not notice each other",
                          preview(cache_dir, 300)),
              {{"path", cache_dir}});
}

}  // namespace encode
