#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/aligned.h"
#include "base/units.h"
#include "command.h"
#include "config/edit/config_edit.h"
#include "plan/bench_record.h"
#include "plan/experiment_plan.h"
#include "plan/plan_report.h"
#include "plan/profile.h"
#include "run_plan/memory/cards.h"
#include "run_plan/shard_plan.h"
#include "run_record/terminal.h"

namespace encode {
namespace {

struct PlanFlags {
  std::string gpu;
  std::string gpu_memory;
  std::string config_path;
  double safety_margin = kSafetyMargin;
  int64_t target_effective_batch = 0;
  int64_t rows = 0;
  double tokens_per_second = 0;
  std::string bench;
  int64_t nodes = 0;
  int64_t gpus = 0;
  std::string storage_rate;
  bool automatic = false;
  bool profile = false;
  bool apply = false;
  bool undo = false;
};

// Reads "24", "24GB" or "24000MB" as a number of bytes. A number without a unit counts GB.
int64_t parse_size(const std::string& flag, const std::string& text) {
  if (text.empty()) return 0;
  const bool plain = text.find_first_not_of("0123456789.") == std::string::npos;
  const std::optional<int64_t> bytes = parse_bytes(plain ? text + "GB" : text);
  if (bytes && *bytes > 0) return *bytes;
  refuse_usage("encode plan", flag + " has no size that can be read",
               "a number with GB, GiB, MB or MiB, such as 24GB", preview(text));
}

// One of --nodes and --gpus is enough.
ClusterWish cluster_of(const PlanFlags& flags) {
  if (flags.nodes == 0 && flags.gpus == 0) {
    if (!flags.storage_rate.empty())
      refuse_usage("encode plan", "--storage-rate is for a plan of several nodes",
                   "--nodes N or --gpus G beside it", "neither");
    return {};
  }
  return {.nodes = std::max<int64_t>(1, flags.nodes),
          .gpus = std::max<int64_t>(1, flags.gpus),
          .storage_bytes_per_second = parse_size("--storage-rate", flags.storage_rate)};
}

// A speed that the user states takes the place of the estimate.
void set_speed(const PlanFlags& flags, PlanRequest& request) {
  request.tokens_per_second = flags.tokens_per_second;
  request.speed_origin = "given";
  if (flags.bench.empty()) return;
  const ComputeType dtype = request.config.streams.front().result.dtype;
  BenchSpeed speed = read_bench_speed(flags.bench, std::string(to_string(dtype)));
  request.tokens_per_second = speed.tokens_per_second;
  request.speed_origin = std::move(speed.origin);
}

// The config file that --apply and --undo change.
std::string config_file(const PlanFlags& flags, const std::string& loaded) {
  const std::string path = flags.config_path.empty() ? loaded : flags.config_path;
  if (path.empty())
    refuse_usage("encode plan", "there is no config to change",
                 "--config FILE or --config-path FILE", "neither");
  return path;
}

// Where the user has set the sizes. The plan may replace a number in the config by a better one. A
// number in a flag stays: it asks for a plan with this number.
struct SizeOrigin {
  bool own_batches = false;
  bool fixed_batches = false;              // set by a flag
  AskedBatch asked_batch = {};             // the same, with the numbers
  bool fixed_chunks = false;               // set by a flag
  std::set<std::string> stream_keys = {};  // the keys of the file that set batches for a stream
};

SizeOrigin size_origin(const LoadedConfig& config) {
  SizeOrigin found;
  for (const Setting& setting : config.settings) {
    if (setting.origin == "default" || setting.value == "auto") continue;
    const bool flag = setting.origin.starts_with("--");
    found.fixed_chunks = found.fixed_chunks || (flag && setting.key.ends_with("chunk_size"));
    const bool batch = setting.key.ends_with("batch_size") || setting.key.ends_with("batch_tokens");
    if (!batch) continue;
    found.own_batches = true;
    found.fixed_batches = found.fixed_batches || flag;
    const SpeedOptions& speed = config.run.streams.front().speed;  // a flag is for all streams
    if (flag && setting.key == "semantic.batch_size") found.asked_batch.rows = speed.batch_size;
    if (flag && setting.key == "semantic.batch_tokens")
      found.asked_batch.tokens = speed.batch_tokens;
    if (setting.source.starts_with("data.")) found.stream_keys.insert(setting.source);
  }
  return found;
}

void apply_plan(const ExperimentPlan& plan, const std::string& path) {
  std::vector<ConfigEdit> edits;
  for (const PlannedSetting& setting : plan.settings)
    edits.push_back({.key = setting.key, .value = setting.value});
  const EditedConfig edited = edit_config(path, edits);
  std::fputs(edited.diff.c_str(), stderr);
  const std::string backup = apply_edit(path, edited);
  const std::string done =
      backup.empty() ? fmt::format("{} has these settings already\n", path)
                     : fmt::format("{} is changed; the old text is in {} (encode plan --undo)\n",
                                   path, backup);
  std::fputs(done.c_str(), stderr);
}

std::string cards_text() {
  std::vector<TableRow> rows = {{"GPU", "memory", "float32", "16 bits"}};
  for (const GpuCard& card : gpu_cards()) {
    rows.push_back({std::string(card.name), format_bytes(card.memory_bytes()),
                    fmt::format("{:.1f} TFLOP/s", card.float32_tflops),
                    fmt::format("{:.1f} TFLOP/s", card.half_tflops)});
  }
  return aligned(rows);
}

int plan(const ConfigFlags& config_flags, const PlanFlags& flags, bool model_given) {
  if (flags.gpu == "list") {
    std::fputs(cards_text().c_str(), stdout);
    return 0;
  }
  if (flags.undo) {
    const std::string path = config_file(flags, config_flags.config_path());
    const std::string backup = undo_edit(path);
    std::fputs(fmt::format("{} has the text of {} again\n", path, backup).c_str(), stderr);
    return 0;
  }
  const bool texts = config_flags.given() || !model_given;
  if (!texts && flags.profile)
    refuse_usage("encode plan", "--profile encodes texts, and none are given",
                 "--input FILE or --config FILE", "neither");
  LoadedConfig config = texts ? config_flags.load() : config_flags.load_without_texts();
  const SizeOrigin sizes = size_origin(config);
  PlanRequest request = {.config = config.run,
                         .own_batches = sizes.own_batches,
                         .fixed_batches = sizes.fixed_batches,
                         .asked_batch = sizes.asked_batch,
                         .fixed_chunks = sizes.fixed_chunks,
                         .stream_keys = {sizes.stream_keys.begin(), sizes.stream_keys.end()},
                         .wish = {.gpu = flags.gpu,
                                  .memory_bytes = parse_size("--gpu-memory", flags.gpu_memory),
                                  .safety_margin = flags.safety_margin},
                         .target_effective_batch = flags.target_effective_batch,
                         .rows = flags.rows,
                         .cluster = cluster_of(flags),
                         .version = ENCODE_VERSION};
  set_speed(flags, request);
  const std::string path = flags.apply ? config_file(flags, config.run.config_path) : "";
  const ExperimentPlan found = plan_experiment(request);
  Json json = to_json(found);
  const size_t columns = Terminal(STDOUT_FILENO).text_columns();
  std::string text = render(found, columns);
  if (flags.profile) {
    Terminal err(STDERR_FILENO);
    const ProfileResult profile = profile_plan(request, found, run_environment(), err);
    if (profile.stopped_by != 0) return end_by_signal(profile.stopped_by);
    json["profile"] = to_json(profile);
    text += render(profile, columns);
  }
  if (config.run.log.json) text = json.dump(-1, ' ', /*ensure_ascii=*/true) + "\n";
  std::fputs(text.c_str(), stdout);
  if (flags.apply) apply_plan(found, path);
  return 0;
}

void add_cluster_flags(CLI::App& app, PlanFlags& flags) {
  constexpr double kMostTokensPerSecond = 1e12;
  CLI::Option* speed =
      app.add_option("--tokens-per-second", flags.tokens_per_second,
                     "The speed of one device, as you have measured it with such rows")
          ->check(CLI::Range(1e-3, kMostTokensPerSecond))
          ->type_name("N");
  app.add_option("--bench", flags.bench, "Take the speed from what encode bench --json has printed")
      ->type_name("FILE")
      ->excludes(speed);
  app.add_option("--nodes", flags.nodes,
                 "Also price the whole experiment in shards on this number of nodes")
      ->check(CLI::Range(int64_t{1}, kMostShards))
      ->type_name("N");
  app.add_option("--gpus", flags.gpus, "GPUs of each node (default: 1)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 10))
      ->type_name("N");
  app.add_option("--storage-rate", flags.storage_rate,
                 "What the shared storage reads and writes in a second: 2GB (default: 1GB)")
      ->type_name("SIZE");
}

}  // namespace

Command add_plan_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "plan", "Find the best batch settings for this device, these texts and this model");
  const ConfigFlags config_flags(
      *app, {"--model", "--input", "--field", "--format", "--dtype", "--device", "--max-length",
             "--batch-size", "--batch-tokens", "--chunk-size", "--json"});
  const auto flags = std::make_shared<PlanFlags>();
  CLI::Option* automatic = app->add_flag("--auto", flags->automatic,
                                         "Plan for the devices of this machine (the default)");
  CLI::Option* gpu =
      app->add_option("--gpu", flags->gpu,
                      "Plan for a card that is not there: \"A100-80GB\"; list shows the cards")
          ->type_name("NAME")
          ->excludes(automatic);
  app->add_option("--gpu-memory", flags->gpu_memory,
                  "Plan for a GPU with this memory: 24, 24GB, 24GiB or 24000MB")
      ->type_name("SIZE")
      ->excludes(automatic)
      ->excludes(gpu);
  app->add_option("--safety-margin", flags->safety_margin,
                  "Share of the free memory that the plan may use, 0.05 to 1 (default 0.85)")
      ->check(CLI::Range(0.05, 1.0));
  app->add_option("--target-effective-batch", flags->target_effective_batch,
                  "Rows of one step, reached with several batches if one does not fit")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app->add_option("--rows", flags->rows, "Plan for this number of rows like those of the inputs")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 50));
  add_cluster_flags(*app, *flags);
  app->add_flag("--profile", flags->profile,
                "Run the model on the first rows, and show the measured peak beside the estimate");
  app->add_option("--config-path", flags->config_path,
                  "The config that --apply and --undo change (default: that of --config)")
      ->type_name("FILE");
  CLI::Option* apply = app->add_flag("--apply", flags->apply,
                                     "Write the settings into the config, and keep a backup");
  app->add_flag("--undo", flags->undo, "Give the config back the text of its newest backup")
      ->excludes(apply);
  app->footer(
      "Examples:\n"
      "  encode plan --config configs/experiment.yaml\n"
      "  encode plan --config configs/experiment.yaml --gpu \"A100-80GB\" --apply\n"
      "  encode plan --model DIR --gpu-memory 24   # for rows of the longest length\n"
      "  encode plan --config run.yaml --gpu H100 --nodes 4 --gpus 8 --rows 1000000000\n"
      "docs/planning.md explains the report.");
  return {app, [app, config_flags, flags] {
            return plan(config_flags, *flags, app->count("--model") > 0);
          }};
}

}  // namespace encode
