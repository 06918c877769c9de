#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "base/units.h"
#include "command.h"
#include "parts_flag.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/terminal.h"
#include "shards/clean_shards.h"
#include "shards/join_shards.h"
#include "shards/merge.h"
#include "shards/plan_shards.h"
#include "shards/shard_words.h"

namespace encode {
namespace {

struct PlanFlags {
  int64_t shards = 0;  // 0: not given
  bool extend = false;
  std::string gpu;  // the card that will encode; "": see choose_shard_chunks()
};

int plan(const ConfigFlags& config_flags, const PlanFlags& flags) {
  if (flags.extend == (flags.shards > 0))
    refuse_usage("encode shards plan", "the plan has no number of shards, or two",
                 "--shards N for a new plan, or --extend", "both of them, or none");
  const LoadedConfig config = config_flags.load();
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  ExtendedPlan made = {.shards = flags.shards};
  if (flags.extend) {
    made = extend_shards(config.run, err, out);
  } else {
    plan_shards(config.run, {.count = flags.shards, .gpu = flags.gpu}, err, out);
  }
  if (config.run.log.json) return 0;  // the log has said it
  const std::string kept =
      flags.extend ? fmt::format(", of which {} need no encoding", format_count(made.kept)) : "";
  std::fputs(fmt::format("planned {}{}; run each of them: {}\n",
                         format_count(made.shards, "shard", "shards"), kept,
                         shard_command(config.run.config_path, 0, made.shards))
                 .c_str(),
             stdout);
  flush_standard_output();
  return 0;
}

struct MergeFlags {
  bool overwrite = false;
  PartsFlag parts;
};

int merge(const ConfigFlags& config_flags, const MergeFlags& flags) {
  LoadedConfig config = config_flags.load();
  config.run.store.overwrite = flags.overwrite;
  flags.parts.set(config.run);
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  const auto work = config.run.store.parts == OutputParts::kOne ? join_shards : merge_shards;
  for (const MergedMatrix& merged : work(config.run, err, out)) {
    if (config.run.log.json) continue;  // the log has said it
    std::fputs(
        fmt::format("{}: {} in {}: {}\n", merged.name, format_count(merged.rows, "row", "rows"),
                    format_count(merged.parts, "part", "parts"), merged.list)
            .c_str(),
        stdout);
  }
  flush_standard_output();
  return 0;
}

struct CleanFlags {
  bool dry_run = false;
  std::optional<std::string> older_than = {};
};

// Returns the seconds of a time such as "12h".
int64_t seconds_of(const std::string& text) {
  constexpr std::array<std::pair<char, int64_t>, 4> kUnits = {
      {{'s', 1}, {'m', 60}, {'h', 60 * 60}, {'d', 24 * 60 * 60}}};
  constexpr int64_t kMost = 1'000'000;
  int64_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto* const unit = std::ranges::find_if(kUnits, [&](const auto& one) {
    return std::string_view(end, text.data() + text.size()) == std::string_view(&one.first, 1);
  });
  if (failure != std::errc() || count < 0 || count > kMost || unit == kUnits.end())
    refuse_usage("encode shards clean", "--older-than does not name a time",
                 "a number and a unit: 30m, 12h, 1d", fmt::format("'{}'", preview(text)));
  return count * unit->second;
}

int clean(const ConfigFlags& config_flags, const CleanFlags& flags) {
  const LoadedConfig config = config_flags.load();
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  RunLog log(config.run.log, err, out);
  const CleanOptions options = {.dry_run = flags.dry_run,
                                .older_than_seconds = seconds_of(flags.older_than.value_or("1d")),
                                .age_given = flags.older_than.has_value()};
  logging_errors(log, [&] { log_cleaning(clean_shards(config.run, options), options, log); });
  return 0;
}

CLI::App* add_plan_verb(CLI::App& shards, PlanFlags& flags) {
  CLI::App* verb = shards.add_subcommand("plan", "Scan the inputs once and write the plan");
  verb->add_option("--shards", flags.shards, "Number of shards")
      ->check(CLI::Range(int64_t{1}, kMostShards))
      ->type_name("N");
  verb->add_option("--gpu", flags.gpu,
                   "The card that will encode, if this machine does not have it: chunk_size: auto "
                   "is chosen for it; encode plan --gpu list shows the cards")
      ->type_name("NAME");
  verb->add_flag("--extend", flags.extend,
                 "Plan again after rows or files were added or changed; shards with the same rows "
                 "keep their parts");
  verb->footer(
      "Example: encode shards plan --config run.yaml --shards 64\n"
      "Then run every shard, on any machine that sees the files: encode run --config run.yaml "
      "--shard 0/64. At last: encode merge --config run.yaml. docs/scale.md describes it.");
  return verb;
}

CLI::App* add_clean_verb(CLI::App& shards, CleanFlags& flags) {
  CLI::App* verb =
      shards.add_subcommand("clean", "Delete the attempts that the experiment does not need");
  verb->add_flag("--dry-run", flags.dry_run, "Only say what would be deleted");
  verb->add_option("--older-than", flags.older_than,
                   "Keep an attempt that may be at work on another machine until its folder has "
                   "not been changed for this time: 30m, 12h, 2d (default: 1d; must be given on a "
                   "file system without locks)")
      ->type_name("TIME");
  verb->footer(
      "Example: encode shards clean --config run.yaml --dry-run\n"
      "It deletes attempts at shards that are published by another attempt, and attempts of other "
      "plans. It keeps attempts at work, those with which a shard goes on, and the matrices of "
      "every part, before and after a merge. docs/scale.md describes it.");
  return verb;
}

}  // namespace

Command add_shards_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("shards", "Divide an experiment into shards for several machines");
  app->require_subcommand(1);
  const auto plan_flags = std::make_shared<PlanFlags>();
  const auto clean_flags = std::make_shared<CleanFlags>();
  CLI::App* plan_verb = add_plan_verb(*app, *plan_flags);
  CLI::App* clean_verb = add_clean_verb(*app, *clean_flags);
  const ConfigFlags of_plan(*plan_verb);
  const ConfigFlags of_clean(*clean_verb, {"--output", "--cache-dir", "--json"});
  return {app, [of_plan, of_clean, plan_flags, clean_flags, clean_verb] {
            return clean_verb->parsed() ? clean(of_clean, *clean_flags)
                                        : plan(of_plan, *plan_flags);
          }};
}

Command add_merge_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand("merge", "Check the parts of all shards and publish them");
  const ConfigFlags config_flags(*app);
  const auto flags = std::make_shared<MergeFlags>();
  app->add_flag("--overwrite", flags->overwrite,
                "Replace files at the paths of the output that encode did not write");
  flags->parts.add(*app);
  app->footer(
      "Example: encode merge --config run.yaml\n"
      "The parts get the names x-00000-of-00064.npy, and x.parts.json lists them. Nothing is "
      "copied where the file system has hard links. With --parts one, or output.parts: one, the "
      "rows "
      "are copied to x.npy, with the bytes of one run. The exit code is 66 if shards are not "
      "encoded yet.");
  return {app, [config_flags, flags] { return merge(config_flags, *flags); }};
}

}  // namespace encode
