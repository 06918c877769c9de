// Determines where to read the status of a run, for a config, an output or a cache directory.
#include <string>

#include "encode/store.h"

#include "base/file.h"
#include "base/own_cache.h"
#include "base/path_kind.h"
#include "run_record/run_paths.h"
#include "run_record/run_status.h"

namespace encode {

StatusRequest status_request(const RunConfig& config) {
  StatusRequest request{.cache_dir = config.store.cache_dir,
                        .output = config.store.output,
                        .config_path = config.config_path};
  for (const StreamConfig& stream : config.streams)
    request.streams.push_back(
        {.name = stream.name(), .final_path = final_path_of(config, stream.name())});
  return request;
}

StatusRequest status_request_of_directory(const std::string& cache_dir) {
  const std::string output = output_of_cache_dir(cache_dir);
  if (!output.empty() && path_exists(manifest_path(output), "status.directory"))
    return status_request(run_of_output(output));
  return {.cache_dir = cache_dir, .output = output};
}

StatusRequest request_of(const std::string& output_or_directory) {
  const bool directory = path_kind(output_or_directory, "status.output") == PathKind::kDirectory;
  return directory ? status_request_of_directory(output_or_directory)
                   : status_request(run_of_output(output_or_directory));
}

StatusRequest status_request(const RunOfOutput& run) {
  StatusRequest request{.cache_dir = run.cache_dir, .output = run.output};
  // A cache directory may hold the matrices of several streams, so only a matrix outside of it says
  // which stream is meant.
  const bool alone = run.cache_dir != parent_directory(run.output);
  if (alone && !run.stream.empty())
    request.streams.push_back({.name = run.stream, .final_path = run.output});
  return request;
}

}  // namespace encode
