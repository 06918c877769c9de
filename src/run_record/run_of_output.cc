#include "run_record/run_of_output.h"

#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/json.h"
#include "base/named_path.h"
#include "base/path_kind.h"
#include "protocol/same_build.h"
#include "run_record/finished_run.h"
#include "run_record/run_command.h"
#include "run_record/status_file.h"
#include "store/attempt_folders.h"
#include "store/audit.h"
#include "store/parts_list.h"
#include "store/run_files.h"

namespace encode {
namespace {

// Returns the directory of the command in the content of a status file; "" if it has none.
std::string directory_of(const Json& status) {
  const JsonFields fields(status, "status", "status.output");
  if (!fields.has("command")) return "";
  return run_command_from(JsonFields(fields.object("command"), "status", "status.output"))
      .directory;
}

// Takes the directory in which the run was started from status.json. A status that cannot be read
// counts as none.
void take_status(RunOfOutput& run) {
  try {
    const std::string path = RunFiles(current_run_dir(run.cache_dir)).status();
    const Json status = read_json_file(path, kStatusFileLimits, "status.output");
    run.directory = directory_of(status);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

void take_job(RunOfOutput& run) {
  run.unit = recorded_unit(run.cache_dir, run.stream);
  if (!run.unit) return;
  run.stream = run.unit->identity.name;
  run.model = run.unit->model_path;
}

// Takes the model and the directory from the record of the run that has made this matrix. A record
// that cannot be read counts as none.
void take_record(const Manifest& manifest, RunOfOutput& run) {
  try {
    const std::optional<FinishedRun> finished = read_finished_run(run.output);
    if (!finished || finished->xxh3_128 != manifest.xxh3_128) return;
    run.model = finished->model;
    run.directory = directory_of(finished->status);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

// A merged matrix was made by many runs. The folder that has their plan is its cache directory.
RunOfOutput run_of_parts(const std::string& list_path) {
  require_named_file(list_path, "status.output");
  const PartsList list = read_parts_list(list_path);
  RunOfOutput run;
  run.output = list_path;
  run.stream = list.identity.name;
  const std::string folder = parent_directory(list_path);
  run.cache_dir = has_run(folder) ? folder : own_run_dir(matrix_of_list(list_path, list));
  if (list.parts.empty()) return run;
  const std::optional<Manifest> first = read_manifest(part_path(list_path, list.parts.front()));
  if (first) run.model = first->identity.model;
  return run;
}

}  // namespace

std::optional<JobUnit> recorded_unit(const std::string& cache_dir, const std::string& stream) {
  try {
    const std::string path = RunFiles(current_run_dir(cache_dir)).job(0);
    JobSpec job = job_spec_from_json(read_file(path, kMaxJobBytes, "status.output"));
    for (JobUnit& unit : job.units) {
      if (stream.empty() || unit.identity.name == stream) return std::move(unit);
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the rest is known without it
  }
  return std::nullopt;
}

RunOfOutput run_of_output(const std::string& path) {
  if (is_parts_list(path)) return run_of_parts(path);
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
    take_record(*manifest, run);  // it exists only if the cache directory is gone
  } else {
    take_job(run);
    take_status(run);
  }
  // job.json describes only the last run in the directory, which may have made other matrices.
  if (run.model.empty() && manifest) run.model = manifest->identity.model;
  return run;
}

}  // namespace encode
