#include "run_record/run_status.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/names.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "run_record/cache_report.h"
#include "run_record/finished_run.h"
#include "run_record/stage_report.h"
#include "run_record/status_file.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr std::string_view kChunksSuffix = "_chunks";

// Calls `read` and turns its Error into a sentence. Returns false if there was one.
template <typename Read>
bool guarded(RunStatus& status, const std::string& path, const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    const ErrorDetail& detail = error.detail();
    status.problems.push_back(fmt::format("{}: {}{}", preview(path, 300), preview(detail.what, 200),
                                          detail.found.empty() ? "" : ", found " + detail.found));
    return false;
  }
}

// Returns false only if there is certainly no such file. A link counts as a file.
bool is_there(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  return type != std::filesystem::file_type::not_found;
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The fields of status.json. A missing key is from an older version and counts as not known.
void take_status_file(const Json& json, const std::string& path, RunStatus& status) {
  const JsonFields fields(json, path, "status.damaged");
  constexpr double kMaxRate = 1e12;
  status.phase = fields.string("state");
  status.written = fields.integer_or("time", 0, 0, kMaxInteger);
  status.started = fields.integer_or("started", 0, 0, kMaxInteger);
  status.restarts = fields.integer_or("restarts", 0, 0, kMaxInteger);
  status.rows_per_second = fields.number_or("rows_per_second", 0, 0, kMaxRate);
  status.tokens_per_second = fields.number_or("tokens_per_second", 0, 0, kMaxRate);
  status.seconds_left = fields.number_or("seconds_left", -1, -1, kMaxRate);
  status.exit_code = fields.integer_or("exit_code", 0, 0, 255);
  if (status.config_path.empty()) status.config_path = fields.string_or("config", "");
  if (fields.has("workers")) {
    for (const Json& entry : fields.array("workers")) {
      const JsonFields worker(entry, path, "status.damaged");
      status.workers.push_back({.device = worker.string("device"),
                                .name = worker.string_or("name", ""),
                                .state = worker.string("state"),
                                .stream = worker.string_or("stream", "")});
    }
  }
  if (fields.has("embedding_cache"))
    status.reuse =
        cache_counts_from(JsonFields(fields.object("embedding_cache"), path, "status.damaged"));
  if (fields.has("stages"))
    status.stages = stage_seconds_from(JsonFields(fields.object("stages"), path, "status.damaged"));
  if (fields.has("refused")) {
    const JsonFields refused(fields.object("refused"), path, "status.damaged");
    status.refused = {.time = refused.integer_or("time", 0, 0, kMaxInteger),
                      .code = refused.string_or("code", ""),
                      .what = refused.string_or("what", ""),
                      .where = refused.string_or("where", ""),
                      .exit_code = refused.integer_or("exit_code", 0, 0, 255)};
  }
  if (!fields.has("error")) return;
  const JsonFields error(fields.object("error"), path, "status.damaged");
  status.error_code = error.string_or("code", "");
  status.error_what = error.string_or("what", "");
  status.error_where = error.string_or("where", "");
}

// What status.json says about the streams of the last worker, by name.
using ReportedRows = std::map<std::string, int64_t>;

ReportedRows reported_rows(const Json& json, const std::string& path) {
  ReportedRows rows;
  const JsonFields fields(json, path, "status.damaged");
  if (!fields.has("streams")) return rows;
  for (const Json& entry : fields.array("streams")) {
    const JsonFields stream(entry, path, "status.damaged");
    rows[stream.string("stream")] = stream.integer("rows", 0, kMaxInteger);
  }
  return rows;
}

std::string state_of(const RunStatus& status, bool own_file) {
  if (status.lock.held == LockState::Held::kYes) return "running";
  if (status.lock.held == LockState::Held::kUnknown) return "unknown";
  if (!own_file) return status.written == 0 && status.lock.pid == 0 ? "none" : "died";
  const bool ended =
      status.phase == "done" || status.phase == "stopped" || status.phase == "failed";
  return ended ? status.phase : "died";
}

// Reads status.json. It counts only if the process that LOCK names has written it: a run that has
// just begun leaves the file of the run before it.
ReportedRows read_status_file(RunStatus& status) {
  const std::string path = RunFiles(status.cache_dir).status();
  ReportedRows rows;
  bool own_file = false;
  if (is_there(path)) {
    guarded(status, path, [&] {
      const Json json = read_json_file(path, kStatusFileLimits, "status.damaged");
      const JsonFields fields(json, path, "status.damaged");
      const int64_t pid = fields.integer_or("pid", 0, 0, kMaxInteger);
      take_status_file(json, path, status);
      rows = reported_rows(json, path);
      own_file = status.lock.pid == 0 || pid == status.lock.pid;
    });
  }
  status.state = state_of(status, own_file);
  const bool encodes = status.state == "running" && own_file;
  // A run writes status.json when it has read its inputs.
  if (!own_file)
    status.phase = status.state == "running" || status.state == "died" ? "scanning" : "";
  if (!encodes) {
    status.rows_per_second = 0;
    status.tokens_per_second = 0;
    status.seconds_left = -1;
  }
  return rows;
}

// Takes the final matrix of a stream, if there is one. Returns false if there is none.
bool take_final(const std::string& path, StreamStatus& stream, RunStatus& status) {
  bool found = false;
  const bool readable = guarded(status, manifest_path(path), [&] {
    const std::optional<Manifest> manifest = read_manifest(path);
    if (!manifest) return;
    const int64_t bytes = file_size(open_for_reading(path, "status.matrix"), path);
    if (bytes != manifest->file_bytes) {
      status.problems.push_back(fmt::format("{}: the matrix has {} bytes, and its manifest says {}",
                                            preview(path, 300), bytes, manifest->file_bytes));
      stream.state = StreamStatus::State::kUnreadable;
    } else {
      stream.state = StreamStatus::State::kDone;
    }
    stream.rows = manifest->identity.rows;
    stream.rows_done = stream.rows;
    found = true;
  });
  if (!readable) stream.state = StreamStatus::State::kUnreadable;
  return found;
}

void take_chunks(StreamStatus& stream, RunStatus& status) {
  const std::string directory = chunks_dir(status.cache_dir, stream.name);
  if (!is_there(join_path(directory, kStreamFile))) return;
  const bool readable = guarded(status, directory, [&] {
    const ChunkProgress progress = read_chunk_progress(directory);
    stream.rows_set_aside = progress.rows_set_aside;
    stream.chunks = progress.chunk_count;
    stream.chunks_done = progress.chunks;
    for (const std::string& problem : progress.problems)
      status.problems.push_back(preview(problem, 400));
    if (stream.state == StreamStatus::State::kDone) return;
    stream.rows = progress.identity.rows;
    stream.rows_done = progress.rows;
    stream.state =
        progress.chunks > 0 ? StreamStatus::State::kPartial : StreamStatus::State::kNotStarted;
  });
  if (!readable && stream.state != StreamStatus::State::kDone)
    stream.state = StreamStatus::State::kUnreadable;
}

StreamStatus stream_status(const StatusRequest::Stream& stream, const ReportedRows& reported,
                           RunStatus& status) {
  StreamStatus result;
  result.name = stream.name;
  const auto rows = reported.find(stream.name);
  if (rows != reported.end()) result.rows = rows->second;
  take_final(stream.final_path, result, status);
  take_chunks(result, status);
  return result;
}

std::vector<std::string> list_cache(const std::string& cache_dir) {
  try {
    return list_directory(cache_dir);
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    if (detail.exit_code == ExitCode::kIoError && !is_directory(cache_dir))
      detail.exit_code = ExitCode::kNoInput;
    detail.code = "status.directory";
    detail.expected = "the cache directory of a run";
    if (detail.found.empty()) detail.found = "a directory that cannot be listed";
    detail.hint = "give the directory that semantic.cache_dir names, or the config with --config";
    throw Error(std::move(detail));
  }
}

// Returns the path of a stream's final, in the first format in which the directory has it.
std::string found_final(const std::string& cache_dir, const std::string& stream) {
  for (const auto& [name, format] : kMatrixFormats) {
    std::string path = final_path(cache_dir, stream, format);
    if (path_exists(manifest_path(path), "status.directory")) return path;
  }
  return final_path(cache_dir, stream);
}

// Returns the stream that has the manifest of a final with this name; "" for other files.
std::string stream_of_manifest(const std::string& name) {
  for (const auto& [format_name, format] : kMatrixFormats) {
    const std::string suffix = manifest_path("_embeddings" + suffix_of(format));
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return "";
}

// Adds the streams that have left files in the directory and that the request does not name.
std::vector<StatusRequest::Stream> all_streams(const StatusRequest& request,
                                               const ReportedRows& reported) {
  std::vector<StatusRequest::Stream> streams = request.streams;
  std::set<std::string> names;
  for (const StatusRequest::Stream& stream : streams) names.insert(stream.name);
  const auto add = [&](const std::string& name) {
    if (names.insert(name).second)
      streams.push_back({.name = name, .final_path = found_final(request.cache_dir, name)});
  };
  const std::vector<std::string> entries = list_cache(request.cache_dir);
  if (!request.streams.empty()) return streams;
  for (const std::string& name : entries) {
    const std::string path = request.cache_dir + "/" + name;
    if (name.ends_with(kChunksSuffix) && is_directory(path))
      add(name.substr(0, name.size() - kChunksSuffix.size()));
    if (const std::string stream = stream_of_manifest(name); !stream.empty()) add(stream);
  }
  for (const auto& [name, rows] : reported) add(name);
  return streams;
}

void take_faults(FaultHistory history, RunStatus& status) {
  status.faults_dropped = history.dropped;
  std::map<std::pair<FaultType, std::string>, FaultSummary> by_cause;
  for (FaultRecord& fault : history.records) {
    if (is_notice(fault.type)) continue;
    FaultSummary& summary = by_cause[{fault.type, fault.code}];
    summary.type = fault.type;
    summary.code = fault.code;
    ++summary.count;
    summary.last = std::move(fault);
  }
  for (auto& [cause, summary] : by_cause) status.faults.push_back(std::move(summary));
  std::stable_sort(status.faults.begin(), status.faults.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  for (const std::string& problem : history.problems)
    status.problems.push_back(preview(problem, 400));
}

void take_memory(MemoryHistory history, RunStatus& status) {
  for (MemorySample& sample : history.samples) {
    if (sample.time >= status.started) status.memory.push_back(sample);
  }
  for (GpuWarning& warning : history.warnings) {
    if (warning.time >= status.started) status.warnings.push_back(std::move(warning));
  }
  for (const std::string& problem : history.problems)
    status.problems.push_back(preview(problem, 400));
}

// Returns the first directories in `directory` that a run has used as its cache directory.
std::vector<std::string> runs_below(const std::string& directory) {
  constexpr size_t kMost = 3;
  std::vector<std::string> found;
  for (const std::string& name : list_cache(directory)) {
    const std::string path = join_path(directory, name);
    if (is_there(RunFiles(path).lock())) found.push_back(path);
    if (found.size() == kMost) break;
  }
  return found;
}

std::string advice(const RunStatus& status) {
  const std::string command =
      status.config_path.empty()
          ? "the same command"
          : fmt::format("encode run --config {}", preview(status.config_path, 300));
  int64_t set_aside = 0;
  for (const StreamStatus& stream : status.streams) set_aside += stream.rows_set_aside;
  if (status.state == "running")
    return fmt::format(
        "Wait: the run goes on as process {}; SIGTERM stops it, and it can continue "
        "later.",
        status.lock.pid);
  if (status.state == "unknown")
    return "Check whether the run is alive: its lock cannot be read here.";
  if (set_aside > 0)
    return fmt::format(
        "Look at the {} set aside (chunk_*.set_aside.jsonl beside "
        "the chunks says why), then run: {}",
        format_count(set_aside, "row that was", "rows that were"),
        status.config_path.empty()
            ? "encode retry-failed with the flags of the run"
            : fmt::format("encode retry-failed --config {}", preview(status.config_path, 300)));
  if (status.state == "done") return "Nothing is left to do; encode verify checks the matrices.";
  if (status.state == "none") {
    const std::vector<std::string> below =
        status.streams.empty() ? runs_below(status.cache_dir) : std::vector<std::string>();
    if (below.empty()) return fmt::format("Start the run: {}", command);
    return fmt::format("No run has used this directory itself: encode status {}",
                       preview(fmt::format("{}", fmt::join(below, " or ")), 300));
  }
  constexpr int64_t kTempFail = static_cast<int64_t>(ExitCode::kTempFail);
  if (status.state == "failed" && status.exit_code != kTempFail)
    return fmt::format("Remove the cause of the error, then continue the run: {}", command);
  return fmt::format("Continue the run: {}", command);
}

// The status of a run whose cache directory is gone: what the record beside its output and the
// finals say.
void take_finished_run(const StatusRequest& request, RunStatus& status) {
  std::optional<FinishedRun> run;
  std::optional<Manifest> manifest;
  const std::string path = finished_run_path(request.output);
  guarded(status, path, [&] {
    if (request.output.empty()) return;
    manifest = read_manifest(request.output);
    run = read_finished_run(request.output);
    if (run && manifest && run->xxh3_128 != manifest->xxh3_128) run.reset();  // an earlier matrix
    if (run) take_status_file(run->status, path, status);
  });
  std::vector<StatusRequest::Stream> streams = request.streams;
  if (streams.empty() && manifest)
    streams.push_back({.name = manifest->identity.name, .final_path = request.output});
  bool done = !streams.empty();
  for (const StatusRequest::Stream& stream : streams) {
    StreamStatus& found = status.streams.emplace_back();
    found.name = stream.name;
    take_final(stream.final_path, found, status);
    done = done && found.state == StreamStatus::State::kDone;
  }
  status.lock.held = LockState::Held::kNo;
  status.state = status.phase = done ? "done" : "unknown";
  status.rows_per_second = status.tokens_per_second = 0;
  status.seconds_left = -1;
  if (run) {
    take_faults(fault_history(std::move(run->faults), path), status);
    take_memory(memory_history(std::move(run->memory), path), status);
  }
  status.advice = done ? advice(status) : "Encode the texts again with the command of the run.";
}

// A finished run may have removed its cache directory and left a record beside its output.
bool is_gone(const StatusRequest& request) {
  if (request.cache_dir.empty()) return true;
  return !request.output.empty() && !is_there(RunFiles(request.cache_dir).lock()) &&
         is_there(finished_run_path(request.output));
}

}  // namespace

RunStatus read_run_status(const StatusRequest& request) {
  RunStatus status;
  status.cache_dir = request.cache_dir;
  status.config_path = request.config_path;
  if (is_gone(request)) {
    take_finished_run(request, status);
    return status;
  }
  list_cache(request.cache_dir);
  status.lock = read_lock_state(request.cache_dir);
  if (!status.lock.problem.empty()) status.problems.push_back(preview(status.lock.problem, 400));
  const ReportedRows reported = read_status_file(status);
  for (const StatusRequest::Stream& stream : all_streams(request, reported))
    status.streams.push_back(stream_status(stream, reported, status));
  const RunFiles files(status.cache_dir);
  take_faults(read_faults(files.faults()), status);
  take_memory(read_memory(files.memory()), status);
  status.advice = advice(status);
  return status;
}

}  // namespace encode
