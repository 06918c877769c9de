#include "supervisor/leave_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/own_cache.h"
#include "run_plan/cache_files.h"
#include "run_plan/leavings.h"

namespace encode {

void leave_output(const StoreOptions& store, const StreamPlan& stream, bool encoded_nothing,
                  RunLog& log) {
  if (!has_own_cache(store)) return;
  const std::string& cache_dir = store.cache_dir;
  try {
    leave_rejected_rows(stream);
    // Keeps the chunks with quarantined rows, because another policy or another try needs them.
    if (store.keep_chunk_cache || read_manifest(stream.final_path)->set_aside) return;
    leave_record(stream, cache_dir, encoded_nothing);
    const std::vector<std::string> left = remove_cache_directory(cache_dir, stream.config.name());
    if (left.empty()) return;
    log.warning(
        "cache_left",
        fmt::format("{} stays, because encode did not write: {}", cache_dir, fmt::join(left, ", ")),
        {{"path", cache_dir}, {"names", left}});
  } catch (const Error& error) {
    // This is only a warning, because the output is complete and the next run tries again to remove
    // the directory.
    log.warning("cache_left",
                fmt::format("{} could not be removed: {} ({})", cache_dir, error.detail().what,
                            error.detail().where),
                {{"path", cache_dir}});
  }
}

}  // namespace encode
