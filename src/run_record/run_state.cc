#include "run_record/run_state.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <system_error>

#include "base/host.h"
#include "base/names.h"
#include "base/units.h"
#include "run_record/cache_report.h"
#include "run_record/stage_report.h"
#include "run_record/status_file.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

ReportedStreams reported_streams(const Json& json, const std::string& path,
                                 const RunStatus& status) {
  ReportedStreams streams;
  const JsonFields fields(json, path, "status.damaged");
  if (!fields.has("streams")) return streams;
  const std::string current = fields.string_or("stream", "");
  for (const Json& entry : fields.array("streams")) {
    const JsonFields stream(entry, path, "status.damaged");
    const std::string name = stream.string("stream");
    const bool encoding =
        name == current || std::any_of(status.workers.begin(), status.workers.end(),
                                       [&](const auto& worker) { return worker.stream == name; });
    streams[name] = {.rows = stream.integer("rows", 0, kMaxInteger),
                     .rows_computed = stream.integer_or("rows_done", 0, 0, kMaxInteger),
                     .encoding = encoding};
  }
  return streams;
}

// Returns true if the run has said lately that it goes on, on a machine whose locks may not be seen
// here.
bool is_heard_of(const RunStatus& status, int64_t seconds) {
  return status.lock.host != host_name() && status.written > std::time(nullptr) - seconds;
}

std::string state_of(const RunStatus& status, bool own_file, int64_t heard_of_seconds) {
  // The worker of a killed run still holds the lock for a moment, so the owner of the lock decides.
  if (status.lock.held == LockState::Held::kYes && !status.lock.owner_ended) return "running";
  if (status.lock.held == LockState::Held::kUnknown) return "unknown";
  if (!own_file) return status.written == 0 && status.lock.pid == 0 ? "none" : "died";
  const std::optional<RunPhase> phase = find_value(kRunPhases, status.phase);
  if (phase && *phase >= RunPhase::kDone) return status.phase;
  return is_heard_of(status, heard_of_seconds) ? "running" : "died";
}

}  // namespace

bool is_there(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  return type != std::filesystem::file_type::not_found;
}

void add_problem(RunStatus& status, const std::string& path, const ErrorDetail& detail) {
  status.problems.push_back(fmt::format("{}: {}{}", preview(path, 300), preview(detail.what, 200),
                                        detail.found.empty() ? "" : ", found " + detail.found));
}

void take_status_file(const Json& json, const std::string& path, RunStatus& status) {
  const JsonFields fields(json, path, "status.damaged");
  status.phase = fields.string("state");
  status.written = fields.integer_or("time", 0, 0, kMaxInteger);
  status.started = fields.integer_or("started", 0, 0, kMaxInteger);
  status.restarts = fields.integer_or("restarts", 0, 0, kMaxInteger);
  status.rows_per_second = fields.number_or("rows_per_second", 0, 0, kMaxRecordedRate);
  status.tokens_per_second = fields.number_or("tokens_per_second", 0, 0, kMaxRecordedRate);
  status.seconds_left = fields.number_or("seconds_left", -1, -1, kMaxRecordedSeconds);
  status.exit_code = fields.integer_or("exit_code", 0, 0, 255);
  if (status.config_path.empty()) status.config_path = fields.string_or("config", "");
  if (fields.has("command"))
    status.command = run_command_from(JsonFields(fields.object("command"), path, "status.damaged"));
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

ReportedStreams read_run_state(RunStatus& status, int64_t heard_of_seconds) {
  status.lock = read_lock_state(status.cache_dir);
  if (!status.lock.problem.empty()) status.problems.push_back(preview(status.lock.problem, 400));
  const std::string path = RunFiles(status.cache_dir).status();
  ReportedStreams streams;
  bool own_file = false;
  if (is_there(path)) {
    guarded_read(status, path, [&] {
      const Json json = read_json_file(path, kStatusFileLimits, "status.damaged");
      const JsonFields fields(json, path, "status.damaged");
      const int64_t pid = fields.integer_or("pid", 0, 0, kMaxInteger);
      take_status_file(json, path, status);
      streams = reported_streams(json, path, status);
      own_file = status.lock.pid == 0 || pid == status.lock.pid;
    });
  }
  status.state = state_of(status, own_file, heard_of_seconds);
  const bool encodes = status.state == "running" && own_file;
  // Until a run has read its inputs, status.json is from the run before it.
  if (!own_file)
    status.phase = status.state == "running" || status.state == "died" ? "scanning" : "";
  if (!encodes) {
    status.rows_per_second = 0;
    status.tokens_per_second = 0;
    status.seconds_left = -1;
    for (auto& [name, stream] : streams) stream = {.rows = stream.rows};  // no worker encodes it
  }
  return streams;
}

}  // namespace encode
