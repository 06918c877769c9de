#include <memory>
#include <unistd.h>

#include "command.h"
#include "parts_flag.h"
#include "run_plan/shard_plan.h"
#include "run_record/terminal.h"
#include "shards/slurm.h"

namespace encode {
namespace {

int submit(const ConfigFlags& config_flags, const PartsFlag& parts, SlurmRequest request) {
  LoadedConfig config = config_flags.load();
  parts.set(config.run);
  request.flags = config_flags.words();
  request.merge_flags = parts.words();
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  submit_to_slurm(config.run, request, err, out);
  return 0;
}

}  // namespace

Command add_slurm_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "slurm", "Submit the plan, the shards and the merge of an experiment to Slurm");
  const ConfigFlags config_flags(*app, {"--json"});
  const auto request = std::make_shared<SlurmRequest>();
  const auto parts = std::make_shared<PartsFlag>();
  app->add_option("--shards", request->shards,
                  "Number of shards; may be left out if the cache directory has a plan")
      ->check(CLI::Range(int64_t{1}, kMostShards))
      ->type_name("N");
  app->add_option("--at-once", request->at_once, "Shards that run at a time (default: no limit)")
      ->check(CLI::Range(int64_t{1}, kMostShards))
      ->type_name("N");
  app->add_option("--cpu-option", request->cpu_options,
                  "Option of sbatch for the plan and the merge, which need no GPU, in place of "
                  "those after --; may be repeated, as in --cpu-option=--partition=cpu")
      ->allow_extra_args(false)
      ->type_name("OPTION");
  const auto gpu = std::make_shared<std::string>();
  app->add_option("--gpu", *gpu,
                  "The card that will encode, if the job of the plan has none; see encode shards "
                  "plan")
      ->type_name("NAME");
  parts->add(*app);
  app->add_flag("--dry-run", request->dry_run,
                "Print the scripts and the commands, and submit nothing");
  app->add_option("sbatch", request->options,
                  "After --: options of sbatch for all jobs, as in -- --partition=gpu --gres=gpu:1")
      ->type_name("OPTION");
  app->footer(
      "Example: encode slurm --config run.yaml --shards 64 --at-once 8 -- --partition=gpu "
      "--gres=gpu:1 --time=04:00:00\n"
      "The same command again submits the shards that have no part yet, and nothing if all is "
      "done. The exit code is 75 while jobs of an earlier call are in the queue. "
      "docs/howto/slurm.md describes the jobs.");
  return {app, [config_flags, parts, request, gpu] {
            if (!gpu->empty()) request->plan_flags = {"--gpu=" + *gpu};
            return submit(config_flags, *parts, *request);
          }};
}

}  // namespace encode
