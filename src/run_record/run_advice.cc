#include "run_record/run_advice.h"

#include <cstdint>
#include <fmt/format.h>

#include "encode/exit_code.h"

#include "base/shell_quote.h"
#include "base/units.h"

namespace encode {
namespace {

// Returns `encode COMMAND` for the config of the run, or `without_config` if no config is known.
std::string command_of_config(const RunStatus& status, const std::string& command,
                              const char* without_config) {
  if (status.config_path.empty()) return without_config;
  return shell_command({"encode", command, "--config", status.config_path});
}

std::string continuing_command(const RunStatus& status) {
  const std::string command = resume_command(status.command, status.input_copy);
  return command.empty() ? command_of_config(status, "run", "the same command") : command;
}

std::string retrying_command(const RunStatus& status) {
  const std::string command = retry_command(status.command, status.input_copy);
  return command.empty() ? command_of_config(status, "retry-failed",
                                             "encode retry-failed with the flags of the run")
                         : command;
}

std::string first_step(const RunStatus& status) {
  if (!status.runs.empty())
    return fmt::format("Look at one of them: {}",
                       shell_command({"encode", "status", status.runs.front().path}));
  if (!status.streams.empty() || !status.config_path.empty())
    return fmt::format("Start the run: {}", continuing_command(status));
  return "No run has used this directory: give the output of a run, or its cache directory.";
}

// Returns the command that checks the matrices of a run that is done.
std::string checking_command(const RunStatus& status) {
  const bool one = status.streams.size() == 1;
  return shell_command(
      {"encode", "verify", one ? status.streams.front().final_path : status.cache_dir});
}

}  // namespace

std::string next_step(const RunStatus& status) {
  int64_t set_aside = 0;
  for (const StreamStatus& stream : status.streams) set_aside += stream.rows_set_aside;
  if (status.state == "running") {
    return fmt::format(
        "Wait: the run goes on as process {}; SIGTERM stops it, and it can continue later.",
        status.lock.pid);
  }
  if (status.state == "unknown")
    return "Check whether the run is alive: its lock cannot be read here.";
  if (set_aside > 0) {
    return fmt::format(
        "Look at the {} set aside (chunk_*.set_aside.jsonl beside the chunks says why), then run: "
        "{}",
        format_count(set_aside, "row that was", "rows that were"), retrying_command(status));
  }
  if (status.state == "done") {
    return fmt::format("Nothing is left to do; to check the {}: {}",
                       status.streams.size() == 1 ? "matrix" : "matrices",
                       checking_command(status));
  }
  if (status.state == "none") return first_step(status);
  constexpr int64_t kTempFail = static_cast<int64_t>(ExitCode::kTempFail);
  const bool has_cause = status.state == "failed" && status.exit_code != kTempFail;
  return fmt::format(
      "{}: {}",
      has_cause ? "Remove the cause of the error, then continue the run" : "Continue the run",
      continuing_command(status));
}

std::string next_step_without_cache(const RunStatus& status) {
  const std::string command = resume_command(status.command, status.input_copy);
  return command.empty() ? "Encode the texts again with the command of the run."
                         : fmt::format("Encode the texts again: {}", command);
}

}  // namespace encode
