#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include "encode/error.h"

#include "command.h"
#include "supervisor/run.h"
#include "supervisor/terminal.h"

namespace encode {
namespace {

// Beside this program, unless ENCODE_WORKER names another one.
std::string worker_program() {
  if (const char* program = std::getenv("ENCODE_WORKER"); program != nullptr && *program != '\0')
    return program;
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure)
    throw system_error("os.self", "find this program", "/proc/self/exe", failure.value());
  return (self.parent_path() / "encode-worker").string();
}

// Ends the way the signal would have ended us, so that shells and schedulers see it (130, 143).
// SIGUSR1 is the warning of a scheduler before it preempts the job: 75 tells it to start the job
// again.
int end_by_signal(int number) {
  if (number == SIGUSR1) return static_cast<int>(ExitCode::kTempFail);
  constexpr int kShellOffset = 128;
  std::signal(number, SIG_DFL);
  std::raise(number);
  return kShellOffset + number;
}

int run(const ConfigFlags& flags, bool fresh) {
  LoadedConfig config = flags.load();
  config.run.store.fresh = fresh;
  RunEnvironment environment;
  environment.worker.program = worker_program();
  environment.version = ENCODE_VERSION;
  // For the worker: OpenMP threads, which only load weights, would spin for a while after each
  // turn.
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
  int stopped_by = 0;
  {
    Terminal err(STDERR_FILENO);
    Terminal out(STDOUT_FILENO);
    stopped_by = run_experiment(config.run, environment, err, out);
  }
  return stopped_by == 0 ? 0 : end_by_signal(stopped_by);
}

}  // namespace

Command add_run_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "run", "Encode every stream of an experiment, going on where an earlier run ended");
  const ConfigFlags flags(*app);
  const auto fresh = std::make_shared<bool>(false);
  app->add_flag("--fresh", *fresh, "Throw away what an earlier run left, and start over");
  app->footer(
      "Examples:\n"
      "  encode run --config configs/experiment.yaml\n"
      "  encode run --model DIR --input texts.jsonl --field text --output out.npy\n"
      "Exit codes are listed in docs/errors.md; 75 means: run the same command again.");
  return {app, [flags, fresh] { return run(flags, *fresh); }};
}

}  // namespace encode
