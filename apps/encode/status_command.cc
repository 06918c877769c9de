#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "command.h"
#include "config/derived_defaults.h"
#include "run_record/run_status.h"
#include "store/audit.h"

namespace encode {
namespace {

struct StatusFlags {
  std::string run;  // its cache directory or its output
  bool watch = false;
  bool verbose = false;
};

constexpr auto kRedraw = std::chrono::seconds(2);

// Returns what the command line names, or else what a run leaves that has no --output.
StatusRequest named_request(const ConfigFlags& config_flags, const std::string& run) {
  std::error_code ignored;
  if (!run.empty()) {
    return std::filesystem::is_directory(run, ignored) ? status_request_of_directory(run)
                                                       : status_request(run_of_output(run));
  }
  if (config_flags.given()) return status_request(config_flags.load().run);
  const std::string usual = default_cache_dir(/*output=*/"");
  if (has_run(usual)) return status_request_of_directory(usual);
  refuse_usage("encode status", "no run is named",
               "the output of a run, its cache directory, or --config FILE",
               fmt::format("none of them, and no run in {}", usual));
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

int show_status(const CLI::App& app, const ConfigFlags& config_flags, const StatusFlags& flags) {
  const StatusRequest request = named_request(config_flags, flags.run);
  const bool json = app.count("--json") > 0;
  const bool redraw = flags.watch && !json && ::isatty(STDOUT_FILENO) == 1;
  while (true) {
    const RunStatus status = read_run_status(request);
    show(rendered(status, json, flags.verbose), redraw);
    if (!flags.watch || status.state != "running") return 0;
    std::this_thread::sleep_for(kRedraw);
  }
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
         "Without any of them: the run in cache/embeddings, where it works without --output")
      ->type_name("FILE|DIR");
  app->add_flag("--verbose,-v", flags->verbose,
                "Also show the devices, the stages, the faults one by one, and the memory");
  app->add_flag("--watch", flags->watch, "Show it every two seconds until the run ends");
  app->footer(
      "Examples:\n"
      "  encode status --config configs/experiment.yaml --watch\n"
      "  encode status books.npy\n"
      "  encode status cache --json\n"
      "The command reads files only: it never takes the lock of the run. It ends with exit code 0 "
      "if the status was shown, however the run itself has ended.");
  return {app, [app, config_flags, flags] { return show_status(*app, config_flags, *flags); }};
}

}  // namespace encode
