#include "run_plan/attempt_chunks.h"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/units.h"
#include "store/attempt_folders.h"
#include "store/layout.h"

namespace encode {
namespace {

// Throws Error if this user may not read the chunks of the stream in this directory.
void require_readable(const std::string& cache_dir, const std::string& stream) {
  const std::string folder = chunks_dir(cache_dir, stream);
  if (!entry_exists(folder, "store.stream")) return;
  list_directory(folder);
  for (const std::string_view name : {kStreamFile, kLogFile}) {
    const std::string path = join_path(folder, name);
    if (entry_exists(path, "store.stream")) open_for_reading(path, "store.stream");
  }
}

}  // namespace

void adopt_earlier_chunks(const StoreOptions& store, const std::string& stream, RunLog& log) {
  if (store.shared_dir.empty() || store.fresh || !store.chunked()) return;
  if (entry_exists(chunks_dir(store.cache_dir, stream), "store.stream")) return;
  std::vector<std::string> sources;
  const auto add = [&](const std::string& directory) {
    try {
      require_readable(directory, stream);
      sources.push_back(directory);
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::kNoInput) return;  // its run has removed it meanwhile
      log.warning("attempt_left_out",
                  fmt::format("{} cannot be read, so its chunks are encoded again: {} ({})",
                              preview(directory, 300), error.detail().what, error.detail().where),
                  {{"attempt", directory}, {"where", error.detail().where}});
    }
  };
  for (const std::string& run : earlier_runs(store.shared_dir, store.cache_dir)) add(run);
  const int64_t chunks = adopt_chunks_of_any(sources, store.cache_dir, stream);
  if (chunks == 0) return;
  log.info("chunks_adopted",
           fmt::format("{}: {} of earlier runs taken over", stream,
                       format_count(chunks, "committed chunk", "committed chunks")),
           {{"stream", stream}, {"chunks", chunks}});
}

}  // namespace encode
