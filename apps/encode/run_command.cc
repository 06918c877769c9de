#include <memory>
#include <unistd.h>

#include "command.h"
#include "pull_models.h"
#include "run_record/terminal.h"

namespace encode {
namespace {

struct RunFlags {
  bool fresh = false;
  bool overwrite = false;
  bool pull = false;
  bool retry_set_aside = false;
};

int run(const ConfigFlags& config_flags, const RunFlags& flags) {
  LoadedConfig config = config_flags.load();
  config.run.store.fresh = flags.fresh;
  config.run.store.overwrite = flags.overwrite;
  RunEnvironment environment = run_environment();
  environment.retry_set_aside = flags.retry_set_aside;
  environment.command = command_of_this_process();
  int stopped_by = 0;
  {
    Terminal err(STDERR_FILENO);
    Terminal out(STDOUT_FILENO);
    if (flags.pull) pull_missing_models(config.run, err);
    stopped_by = run_experiment(config.run, environment, err, out).stopped_by;
  }
  return stopped_by == 0 ? 0 : end_by_signal(stopped_by);
}

}  // namespace

Command add_run_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "run", "Encode texts into a matrix of embeddings; continue a run that was interrupted");
  const ConfigFlags config_flags(*app);
  const auto flags = std::make_shared<RunFlags>();
  app->add_flag("--fresh", flags->fresh,
                "Delete what an earlier run of this output left, and start over");
  app->add_flag("--overwrite", flags->overwrite,
                "Replace a file at the path of the output that encode did not write");
  app->add_flag(
      "--pull", flags->pull,
      "Download the model first, if --model is a Hugging Face id that is not on this machine");
  app->footer(
      "Examples:\n"
      "  encode run --config configs/experiment.yaml\n"
      "  encode run --model DIR --input texts.jsonl --field text --output out.npy\n"
      "docs/errors.md lists the exit codes. After exit code 75, run the same command again.");
  return {app, [config_flags, flags] { return run(config_flags, *flags); }};
}

Command add_retry_failed_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "retry-failed", "Encode the rows again that failed in a run, and complete its output");
  const ConfigFlags config_flags(*app);
  app->footer(
      "Example: encode retry-failed --config configs/experiment.yaml\n"
      "The chunks that have such rows are encoded again, and an output that waited for them is "
      "written. The exit code is that of encode run: 65 if a row fails again, unless --quarantine "
      "is zeros or drop.");
  return {app, [config_flags] { return run(config_flags, {.retry_set_aside = true}); }};
}

}  // namespace encode
