#include "run_record/run_status.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/named_path.h"
#include "base/own_cache.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "run_record/finished_run.h"
#include "run_record/run_advice.h"
#include "run_record/run_state.h"
#include "run_record/runs_below.h"
#include "store/attempt_folders.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

// Takes the final matrix of a stream, if there is one. Returns false if there is none.
bool take_final(const std::string& path, StreamStatus& stream, RunStatus& status) {
  bool found = false;
  const bool readable = guarded_read(status, manifest_path(path), [&] {
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
  const bool readable = guarded_read(status, directory, [&] {
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

StreamStatus stream_status(const StatusRequest::Stream& stream, const ReportedStreams& reported,
                           RunStatus& status) {
  StreamStatus result;
  result.name = stream.name;
  result.final_path = stream.final_path;
  const auto found = reported.find(stream.name);
  const ReportedStream said = found != reported.end() ? found->second : ReportedStream{.rows = -1};
  result.rows = said.rows;
  take_final(stream.final_path, result, status);
  take_chunks(result, status);
  result.rows_computed = std::max(result.rows_done, said.rows_computed);
  const bool open = result.state == StreamStatus::State::kNotStarted ||
                    result.state == StreamStatus::State::kPartial;
  if (said.encoding && open) result.state = StreamStatus::State::kEncoding;
  return result;
}

std::vector<std::string> list_cache(const std::string& cache_dir) {
  try {
    require_named_file(cache_dir, "status.directory");
    return list_directory(cache_dir);
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    if (detail.exit_code == ExitCode::kIoError && !is_directory(cache_dir, "status.directory"))
      detail.exit_code = ExitCode::kNoInput;
    detail.code = "status.directory";
    detail.expected = "the cache directory of a run";
    if (detail.found.empty()) detail.found = "a directory that cannot be listed";
    detail.hint = "give the directory that semantic.cache_dir names, or the config with --config";
    throw Error(std::move(detail));
  }
}

// Returns the path of a stream's final matrix, in the first format in which the directory has it.
std::string found_final(const std::string& cache_dir, const std::string& stream) {
  for (const auto& [name, format] : kMatrixFormats) {
    std::string path = final_path(cache_dir, stream, format);
    if (path_exists(manifest_path(path), "status.directory")) return path;
  }
  return final_path(cache_dir, stream);
}

// Returns the paths of the entries of both directories, which may be the same one.
std::vector<std::string> entries_of(const std::string& cache_dir, const std::string& run_dir) {
  std::vector<std::string> paths;
  for (const std::string& directory : std::set<std::string>{cache_dir, run_dir}) {
    for (const std::string& name : list_cache(directory))
      paths.push_back(join_path(directory, name));
  }
  return paths;
}

// Adds the streams that have left files in the directory and that the request does not name.
std::vector<StatusRequest::Stream> all_streams(const StatusRequest& request,
                                               const ReportedStreams& reported) {
  std::vector<StatusRequest::Stream> streams = request.streams;
  std::set<std::string> names;
  for (const StatusRequest::Stream& stream : streams) names.insert(stream.name);
  const auto add = [&](const std::string& name) {
    if (names.insert(name).second)
      streams.push_back({.name = name, .final_path = found_final(request.cache_dir, name)});
  };
  list_cache(request.cache_dir);
  if (!request.streams.empty()) return streams;
  const std::string attempt = current_run_dir(request.cache_dir);
  for (const std::string& path : entries_of(request.cache_dir, attempt)) {
    const std::string name = std::filesystem::path(path).filename().string();
    std::error_code ignored;  // what cannot be looked at does not count as a folder of chunks
    if (name.ends_with(kChunksSuffix) && std::filesystem::is_directory(path, ignored))
      add(name.substr(0, name.size() - kChunksSuffix.size()));
    if (const std::string stream = stream_of_manifest(name); !stream.empty()) add(stream);
  }
  for (const auto& [name, said] : reported) add(name);
  return streams;
}

// With a full disk the last fault may be on record although status.json still says "running".
void take_last_fault(std::optional<FaultRecord> fault, RunStatus& status) {
  status.last_fault = std::move(fault);
  if (!status.last_fault || status.last_fault->action != FaultAction::kGaveUp) return;
  status.state = "failed";
  status.error_code = status.last_fault->code;
  status.error_what = status.last_fault->message;
  const std::optional<ErrorCode> code = ErrorCode::find(status.error_code);
  if (code) status.exit_code = static_cast<int64_t>(code->exit_code());
}

void take_faults(const FaultHistory& history, RunStatus& status) {
  status.faults_dropped = history.dropped;
  status.faults = summarize(history.records);
  if (status.state == "died") take_last_fault(last_fault(history.records), status);
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

// A run reads standard input for one of its streams only.
void take_input_copy(const std::string& cache_dir, const std::string& stream, RunStatus& status) {
  if (status.input_copy.empty()) status.input_copy = standard_input_copy(cache_dir, stream);
}

// Takes the status of a run whose cache directory is gone from the record beside its output and
// from the final matrices.
void take_finished_run(const StatusRequest& request, RunStatus& status) {
  std::optional<FinishedRun> run;
  std::optional<Manifest> manifest;
  const std::string path = finished_run_path(request.output);
  guarded_read(status, path, [&] {
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
    found.final_path = stream.final_path;
    take_final(stream.final_path, found, status);
    found.rows_computed = found.rows_done;
    take_input_copy(own_cache_dir(stream.final_path), stream.name, status);
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
  status.advice = done ? next_step(status) : next_step_without_cache(status);
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
  status.cache_dir = current_run_dir(request.cache_dir);
  status.config_path = request.config_path;
  if (is_gone(request)) {
    take_finished_run(request, status);
    return status;
  }
  list_cache(request.cache_dir);
  const ReportedStreams reported = read_run_state(status);
  for (const StatusRequest::Stream& stream : all_streams(request, reported)) {
    status.streams.push_back(stream_status(stream, reported, status));
    take_input_copy(status.cache_dir, stream.name, status);
  }
  if (status.state == "none" && status.streams.empty()) {
    list_runs_below(request.cache_dir, status);
    const bool only = status.runs.size() == 1 && status.runs.front().state != "unreadable";
    if (only) return read_run_status(request_of(status.runs.front().path));
  }
  const RunFiles files(status.cache_dir);
  take_faults(read_faults(files.faults()), status);
  take_memory(read_memory(files.memory()), status);
  status.cache_dir = request.cache_dir;
  status.advice = next_step(status);
  return status;
}

}  // namespace encode
