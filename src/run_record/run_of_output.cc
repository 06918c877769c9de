#include "run_record/run_of_output.h"

#include <optional>

#include "encode/error.h"
#include "encode/job.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "run_record/finished_run.h"
#include "store/audit.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr int64_t kMaxJobBytes = 64 << 20;

// What the worker was asked to do. A job that cannot be read, or that is from another version,
// counts as none, because everything else is known without it.
void take_job(RunOfOutput& run) {
  try {
    const std::string path = RunFiles(run.cache_dir).job(0);
    const JobSpec job = job_spec_from_json(read_file(path, kMaxJobBytes, "status.output"));
    for (const JobUnit& unit : job.units) {
      if (!run.stream.empty() && unit.identity.name != run.stream) continue;
      run.stream = unit.identity.name;
      run.model = unit.model_path;
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

// Takes the model from the record of the run that has made this matrix. A record that cannot be
// read counts as none.
void take_record(const Manifest& manifest, RunOfOutput& run) {
  try {
    const std::optional<FinishedRun> finished = read_finished_run(run.output);
    if (finished && finished->xxh3_128 == manifest.xxh3_128) run.model = finished->model;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace

RunOfOutput run_of_output(const std::string& path) {
  RunOfOutput run;
  run.output = path;
  const std::optional<Manifest> manifest = read_manifest(path);
  if (manifest) run.stream = manifest->identity.name;
  run.cache_dir = own_run_dir(path);
  const bool may_be_elsewhere = run.cache_dir.empty() && manifest;
  if (may_be_elsewhere && !path_exists(finished_run_path(path), "status.output") &&
      has_run(parent_directory(path))) {
    run.cache_dir = parent_directory(path);
  } else if (run.cache_dir.empty() && !manifest) {
    throw Error(
        {.code = "status.output",
         .what = "no run of encode is known that makes this file",
         .where = path,
         .expected = "a matrix with its manifest, or the --output of a run that has begun",
         .found = path_exists(path, "status.output") ? "a file without a manifest" : "no such file",
         .hint =
             "check the path, or give the cache directory of the run (cache/embeddings if it had "
             "no --output) or its config"});
  }
  if (run.cache_dir.empty()) {
    take_record(*manifest, run);  // without a cache directory there is a manifest
  } else {
    take_job(run);
  }
  return run;
}

}  // namespace encode
