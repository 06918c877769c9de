#include <memory>
#include <unistd.h>

#include "command.h"
#include "run_environment.h"
#include "supervisor/report/terminal.h"

namespace encode {
namespace {

int run(const ConfigFlags& flags, bool fresh) {
  LoadedConfig config = flags.load();
  config.run.store.fresh = fresh;
  int stopped_by = 0;
  {
    Terminal err(STDERR_FILENO);
    Terminal out(STDOUT_FILENO);
    stopped_by = run_experiment(config.run, run_environment(), err, out).stopped_by;
  }
  return stopped_by == 0 ? 0 : end_by_signal(stopped_by);
}

}  // namespace

Command add_run_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "run", "Encode every stream of an experiment, and continue where an earlier run ended");
  const ConfigFlags flags(*app);
  const auto fresh = std::make_shared<bool>(false);
  app->add_flag("--fresh", *fresh, "Delete what an earlier run left, and start over");
  app->footer(
      "Examples:\n"
      "  encode run --config configs/experiment.yaml\n"
      "  encode run --model DIR --input texts.jsonl --field text --output out.npy\n"
      "docs/errors.md lists the exit codes. After exit code 75, run the same command again.");
  return {app, [flags, fresh] { return run(flags, *fresh); }};
}

}  // namespace encode
