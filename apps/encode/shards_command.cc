#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

#include "base/units.h"
#include "command.h"
#include "run_plan/shard_plan.h"
#include "run_record/terminal.h"
#include "shards/merge.h"
#include "shards/plan_shards.h"

namespace encode {
namespace {

int plan(const ConfigFlags& config_flags, int64_t shards) {
  const LoadedConfig config = config_flags.load();
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  plan_shards(config.run, shards, err, out);
  std::fputs(fmt::format("planned {}; run each of them: encode run ... --shard I/{}\n",
                         format_count(shards, "shard", "shards"), shards)
                 .c_str(),
             stdout);
  flush_standard_output();
  return 0;
}

int merge(const ConfigFlags& config_flags, bool overwrite) {
  LoadedConfig config = config_flags.load();
  config.run.store.overwrite = overwrite;
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  for (const MergedMatrix& merged : merge_shards(config.run, err, out)) {
    std::fputs(
        fmt::format("{}: {} in {}: {}\n", merged.name, format_count(merged.rows, "row", "rows"),
                    format_count(merged.parts, "part", "parts"), merged.list)
            .c_str(),
        stdout);
  }
  flush_standard_output();
  return 0;
}

}  // namespace

Command add_shards_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("shards", "Divide an experiment into shards for several machines");
  app->require_subcommand(1);
  CLI::App* plan_app = app->add_subcommand("plan", "Scan the inputs once and write the plan");
  const ConfigFlags config_flags(*plan_app);
  const auto shards = std::make_shared<int64_t>(0);
  plan_app->add_option("--shards", *shards, "Number of shards")
      ->required()
      ->check(CLI::Range(int64_t{1}, kMostShards))
      ->type_name("N");
  plan_app->footer(
      "Example: encode shards plan --config run.yaml --shards 64\n"
      "Then run every shard, on any machine that sees the files: encode run --config run.yaml "
      "--shard 0/64. At last: encode merge --config run.yaml. docs/scale.md describes it.");
  return {app, [config_flags, shards] { return plan(config_flags, *shards); }};
}

Command add_merge_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand("merge", "Check the parts of all shards and publish them");
  const ConfigFlags config_flags(*app);
  const auto overwrite = std::make_shared<bool>(false);
  app->add_flag("--overwrite", *overwrite,
                "Replace files at the paths of the output that encode did not write");
  app->footer(
      "Example: encode merge --config run.yaml\n"
      "The parts get the names x-00000-of-00064.npy, and x.parts.json lists them. Nothing is "
      "copied where the file system has hard links. The exit code is 66 if shards are not encoded "
      "yet.");
  return {app, [config_flags, overwrite] { return merge(config_flags, *overwrite); }};
}

}  // namespace encode
