#include "run_record/runs_below.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/own_cache.h"
#include "base/own_files.h"
#include "store/audit.h"
#include "store/layout.h"

namespace encode {
namespace {

constexpr size_t kMostRuns = 20;

RunBelow run_below_of(const std::string& place, const RunStatus& status) {
  RunBelow run = {.path = place, .state = status.state, .rows = 0, .rows_done = 0};
  for (const StreamStatus& stream : status.streams) {
    if (stream.rows < 0) continue;
    run.rows += stream.rows;
    run.rows_done += stream.rows_done;
  }
  return run;
}

// Returns nullopt for a run that cannot be read.
std::optional<RunStatus> status_at(const std::string& place) {
  try {
    return read_run_status(request_of(place));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> runs_below(const std::string& folder) {
  std::set<std::string> places;
  for (const std::string& name : list_directory(folder)) {
    const std::string path = folder == "." ? name : join_path(folder, name);
    if (has_run(path)) {
      const std::string output = output_of_cache_dir(path);
      places.insert(output.empty() ? path : output);
    } else if (std::string matrix = matrix_of_manifest(path); !matrix.empty()) {
      places.insert(std::move(matrix));
    }
  }
  return {places.begin(), places.end()};
}

std::vector<RunBelow> newer_runs_below(const std::string& folder, const RunStatus& shown) {
  struct Newer {
    bool running = false;
    int64_t written = 0;
    RunBelow run;
  };
  std::vector<Newer> newer;
  for (const std::string& place : runs_below(folder)) {
    const std::optional<RunStatus> status = status_at(place);
    if (!status) continue;
    const bool running = status->state == "running";
    const bool goes_on = running && shown.state != "running";
    if (goes_on || status->written > shown.written)
      newer.push_back({running, status->written, run_below_of(place, *status)});
  }
  std::stable_sort(newer.begin(), newer.end(), [](const Newer& a, const Newer& b) {
    return std::tie(a.running, a.written) > std::tie(b.running, b.written);
  });
  std::vector<RunBelow> runs;
  for (Newer& one : newer) {
    if (runs.size() < kMostRuns) runs.push_back(std::move(one.run));
  }
  return runs;
}

void list_runs_below(const std::string& folder, RunStatus& status) {
  for (const std::string& place : runs_below(folder)) {
    if (status.runs.size() < kMostRuns) {
      const std::optional<RunStatus> found = status_at(place);
      status.runs.push_back(found ? run_below_of(place, *found)
                                  : RunBelow{.path = place, .state = "unreadable"});
    } else {
      ++status.more_runs;
    }
  }
}

}  // namespace encode
