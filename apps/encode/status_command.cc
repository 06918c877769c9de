#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/units.h"
#include "command.h"
#include "config/derived_defaults.h"
#include "run_record/run_of_output.h"
#include "run_record/run_status.h"
#include "run_record/runs_below.h"
#include "shards/shards_status.h"
#include "store/audit.h"

namespace encode {
namespace {

struct StatusFlags {
  std::string run;  // the cache directory or the output of the run
  bool watch = false;
  bool verbose = false;
};

constexpr auto kRedraw = std::chrono::seconds(2);

constexpr const char* kHere = ".";

struct NamedRun {
  StatusRequest request;
  bool by_default = false;  // the command line names no run
};

// Returns the run that --output and --cache-dir name without the other flags of the run.
StatusRequest request_of_flags(const std::string& output, const std::string& cache_dir) {
  if (cache_dir.empty()) return status_request(run_of_output(output));
  if (output.empty()) return status_request_of_directory(cache_dir);
  const std::optional<JobUnit> unit = recorded_unit(cache_dir, /*stream=*/"");
  const std::string stream = unit ? unit->identity.name : default_stream_name(output);
  return {.cache_dir = cache_dir,
          .output = output,
          .streams = {{.name = stream, .final_path = output}}};
}

// Returns the run that the command line names. By default this is the run in the cache directory of
// a run without --output, or else what is in the current directory.
NamedRun named_run(const ConfigFlags& config_flags, const std::string& run) {
  constexpr const char* kExpected =
      "one of: the output of a run, its cache directory, --config FILE, or the flags of the run";
  const std::string flags = config_flags.describing();
  if (!run.empty()) {
    if (!flags.empty())
      refuse_usage("encode status", "the run is named twice", kExpected,
                   fmt::format("'{}' and {}", preview(run), flags));
    return {.request = request_of(run)};
  }
  if (config_flags.given()) return {.request = status_request(config_flags.load().run)};
  const std::string output = config_flags.value_of("--output");
  const std::string cache_dir = config_flags.value_of("--cache-dir");
  if (!output.empty() || !cache_dir.empty())
    return {.request = request_of_flags(output, cache_dir)};
  if (!flags.empty())
    refuse_usage("encode status", "no run is named", kExpected, fmt::format("only {}", flags));
  const std::string usual = default_cache_dir(/*output=*/"");
  if (has_run(usual)) return {.request = status_request_of_directory(usual), .by_default = true};
  const std::vector<std::string> here = runs_below(kHere);
  if (here.size() == 1) return {.request = request_of(here.front())};
  if (!here.empty()) return {.request = {.cache_dir = kHere}};
  refuse_usage("encode status", "no run is named", kExpected,
               fmt::format("none of them, and no run in {} or in this directory", usual));
}

std::string rendered(const RunStatus& status, bool json, bool verbose) {
  if (json) return render_json(status) + "\n";
  return render_text(status, verbose ? StatusDetail::kFull : StatusDetail::kShort);
}

void show(const std::string& text, bool redraw) {
  // Moves to the upper left corner and clears the screen.
  if (redraw) std::fputs("\x1b[H\x1b[J", stdout);
  std::fputs(text.c_str(), stdout);
  flush_standard_output();
}

// Shows all shards of the experiment. Returns true if one of them is at work.
bool show_shards(const std::string& cache_dir, const std::string& config_path, bool json,
                 bool redraw) {
  const ShardsStatus status = read_shards_status(cache_dir, config_path);
  show(json ? render_json(status) + "\n" : render_text(status), redraw);
  return !status.running.empty();
}

// Returns true if the run goes on.
bool show_run(const NamedRun& run, const StatusFlags& flags, bool json, bool redraw) {
  RunStatus status = read_run_status(run.request);
  if (has_shard_plan(status.cache_dir))  // the only run below the folder
    return show_shards(status.cache_dir, status.config_path, json, redraw);
  read_shards_below(status);
  if (run.by_default) status.newer = newer_runs_below(kHere, status);
  show(rendered(status, json, flags.verbose), redraw);
  return status.state == "running";
}

int show_status(const CLI::App& app, const ConfigFlags& config_flags, const StatusFlags& flags) {
  const NamedRun run = named_run(config_flags, flags.run);
  const bool json = app.count("--json") > 0;
  const bool redraw = flags.watch && !json && ::isatty(STDOUT_FILENO) == 1;
  const StatusRequest& request = run.request;
  const auto goes_on = [&] {
    if (has_shard_plan(request.cache_dir))
      return show_shards(request.cache_dir, request.config_path, json, redraw);
    return show_run(run, flags, json, redraw);
  };
  while (goes_on() && flags.watch) std::this_thread::sleep_for(kRedraw);
  return 0;
}

}  // namespace

Command add_status_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "status", "Show how far a run is, its faults and its memory, and what to do next");
  const ConfigFlags config_flags(*app, {"--input", "--output", "--cache-dir", "--json"});
  const auto flags = std::make_shared<StatusFlags>();
  app->add_option(
         "run", flags->run,
         "Output of the run (its --output), or its cache directory, instead of a config. "
         "Without any of them: the run in cache/embeddings, where it works without --output, or "
         "else the runs in this directory")
      ->type_name("FILE|DIR");
  app->add_flag("--verbose,-v", flags->verbose,
                "Also show the devices, the stages, the faults one by one, and the memory");
  app->add_flag("--watch", flags->watch, "Show it every two seconds until the run ends");
  app->footer(
      "Examples:\n"
      "  encode status --config configs/experiment.yaml --watch\n"
      "  encode status books.npy\n"
      "  encode status cache --json\n"
      "For an experiment in shards it shows all of them: how many are published, at work, failed "
      "and "
      "missing. The command reads files only: it never takes the lock of the run. It ends with "
      "exit code 0 "
      "if the status was shown, however the run itself has ended.");
  return {app, [app, config_flags, flags] { return show_status(*app, config_flags, *flags); }};
}

}  // namespace encode
