#include "search/search_target.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encode/error.h"
#include "encode/store.h"

#include "base/path_kind.h"
#include "base/units.h"
#include "search/run_match.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/run_files.h"
#include "run_plan/plan.h"

namespace encode {
namespace {

const StreamConfig& stream_of(const RunConfig& config, const std::string& name) {
  for (const CombineConfig& combine : config.combine) {
    if (combined_name(combine) == name)
      throw combined_error(final_path(config.store.cache_dir, name), combine.streams);
  }
  std::vector<const StreamConfig*> found;
  std::vector<std::string> names;
  for (const StreamConfig& stream : config.streams) {
    names.push_back(stream.name());
    if (name.empty() || name == stream.name() || name == stream.stream) found.push_back(&stream);
  }
  if (found.size() == 1) return *found.front();
  throw Error({.code = "search.stream",
               .what = found.empty() ? "the config has no stream of this name"
                                     : "the config has several streams",
               .where = "--stream",
               .expected = fmt::format("one of: {}", fmt::join(names, ", ")),
               .found = name.empty() ? "no name" : fmt::format("'{}'", preview(name)),
               .hint = "name one stream"});
}

// Says how far a stream without a final is.
Error unfinished(const RunConfig& config, const StreamConfig& stream, const std::string& path) {
  std::string found = "no committed rows";
  const std::string folder = chunks_dir(config.store.cache_dir, stream.name());
  if (path_exists(join_path(folder, kStreamFile), "store.stream")) {
    const ChunkProgress progress = read_chunk_progress(folder);
    found = fmt::format("{} of {} committed", format_count(progress.rows),
                        format_count(progress.identity.rows, "row is", "rows are"));
  }
  return Error(
      {.code = "search.unfinished",
       .what = fmt::format("the stream {} is not finished", stream.name()),
       .where = path,
       .expected = "the final matrix of the stream",
       .found = std::move(found),
       .hint =
           "a search needs the final matrix, and not its chunks: encode run with the same config "
           "goes on and makes it"});
}

}  // namespace

SearchTarget find_stream(const RunConfig& config, const std::string& name) {
  const StreamConfig& stream = stream_of(config, name);
  SearchTarget target;
  target.matrix_path = final_path_of(config, stream.name());
  if (!path_exists(target.matrix_path, "npy.open"))
    throw unfinished(config, stream, target.matrix_path);
  target.model = stream.result.model;
  target.revision = stream.result.revision;
  target.hardware = config.hardware;
  target.threads = stream.speed.threads;
  target.hash_cache = RunFiles(config.store.cache_dir).model_hashes();
  if (stream.input.path == "-") return target;  // the run has copied it; the manifest has the path
  target.texts = {stream.input.path};
  target.texts.insert(target.texts.end(), stream.input.more_paths.begin(),
                      stream.input.more_paths.end());
  return target;
}

}  // namespace encode
