#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/units.h"
#include "command.h"
#include "pull_models.h"
#include "run_plan/shard_plan.h"
#include "run_record/terminal.h"
#include "shards/run_shard.h"
#include "supervisor/own_attempt.h"

namespace encode {
namespace {

struct RunFlags {
  bool fresh = false;
  bool overwrite = false;
  bool pull = false;
  bool retry_set_aside = false;
  std::optional<std::string> shard = {};  // nullopt: all rows
};

// The variables by which schedulers number the tasks of a job: Slurm, Kubernetes, torchrun and MPI
// launchers.
constexpr std::array kTaskVariables = {"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "RANK"};

[[noreturn]] void refuse_shard(std::string expected, std::string found) {
  throw Error({.code = "shards.number",
               .what = "--shard does not name a shard",
               .where = "--shard",
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = "number the shards from 0: --shard 3/64, or --shard auto in a job array"});
}

int64_t number_of(const std::string& text, const std::string& expected) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < 0)
    refuse_shard(expected, fmt::format("'{}'", preview(text)));
  return number;
}

int64_t shard_of_task() {
  std::optional<int64_t> found;
  std::string name;
  for (const char* variable : kTaskVariables) {
    const char* text = std::getenv(variable);
    if (text == nullptr) continue;
    const int64_t number = number_of(text, fmt::format("a number in {}", variable));
    if (found && *found != number)
      refuse_shard("variables that agree",
                   fmt::format("{}={} and {}={}", name, *found, variable, number));
    if (found) continue;
    found = number;
    name = variable;
  }
  if (!found)
    refuse_shard(fmt::format("one of {} is set", fmt::join(kTaskVariables, ", ")), "none");
  return *found;
}

// Returns the shard that --shard names.
ShardOfRun named_shard(const std::string& text, const RunConfig& experiment) {
  if (text == "auto") return {.experiment = experiment, .index = shard_of_task()};
  const size_t slash = text.find('/');
  if (slash == std::string::npos) refuse_shard("I/N or auto", fmt::format("'{}'", preview(text)));
  return {.experiment = experiment,
          .index = number_of(text.substr(0, slash), "I/N with numbers"),
          .shards = number_of(text.substr(slash + 1), "I/N with numbers")};
}

// Throws if the flags and the cache directory do not fit together.
void check_shard_flags(const StoreOptions& store, const RunFlags& flags) {
  std::error_code failure;  // the run reports why it cannot look at its cache directory
  const bool planned = std::filesystem::exists(ShardFiles(store.cache_dir).plan(), failure);
  if (!flags.shard && planned)
    refuse_usage("encode run", "the cache directory has a plan of shards", "--shard I/N",
                 "no --shard: to encode all rows in one run, give another --cache-dir");
  if (flags.shard && flags.fresh)
    refuse_usage("encode run", "a shard cannot be encoded with --fresh", "--shard alone",
                 "--shard and --fresh: to start over, plan in another --cache-dir");
}

int run(const ConfigFlags& config_flags, const RunFlags& flags) {
  LoadedConfig config = config_flags.load();
  config.run.store.fresh = flags.fresh;
  config.run.store.overwrite = flags.overwrite;
  check_shard_flags(config.run.store, flags);
  RunEnvironment environment = run_environment();
  environment.retry_set_aside = flags.retry_set_aside;
  environment.command = command_of_this_process();
  int stopped_by = 0;
  {
    Terminal err(STDERR_FILENO);
    Terminal out(STDOUT_FILENO);
    if (flags.pull) pull_missing_models(config.run, err);
    const RunConfig& experiment = config.run;
    const auto shard = [&] {
      RunLog log(experiment.log, err, out);
      return logging_errors(log, [&] { return named_shard(*flags.shard, experiment); });
    };
    const RunEnd end = flags.shard ? run_shard(shard(), environment, err, out)
                                   : run_where_safe(experiment, environment, err, out);
    stopped_by = end.stopped_by;
  }
  return stopped_by == 0 ? 0 : end_by_signal(stopped_by);
}

void add_shard_flag(CLI::App& app, std::optional<std::string>& shard) {
  app.add_option("--shard", shard,
                 "Encode only shard I of the N shards that `encode shards plan` has made; auto "
                 "takes I from the job array")
      ->type_name("I/N");
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
  add_shard_flag(*app, flags->shard);
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
  const auto flags = std::make_shared<RunFlags>();
  flags->retry_set_aside = true;
  add_shard_flag(*app, flags->shard);
  app->footer(
      "Example: encode retry-failed --config configs/experiment.yaml\n"
      "The chunks that have such rows are encoded again, and an output that waited for them is "
      "written. The exit code is that of encode run: 65 if a row fails again, unless --quarantine "
      "is zeros or drop.");
  return {app, [config_flags, flags] { return run(config_flags, *flags); }};
}

}  // namespace encode
