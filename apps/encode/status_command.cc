#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "command.h"
#include "run_record/run_status.h"

namespace encode {
namespace {

struct StatusFlags {
  std::string run;  // its cache directory or its output
  bool watch = false;
};

constexpr auto kRedraw = std::chrono::seconds(2);

void show(const RunStatus& status, bool json, bool redraw) {
  // Moves to the upper left corner and clears the screen.
  if (redraw) std::fputs("\x1b[H\x1b[J", stdout);
  std::fputs((json ? render_json(status) + "\n" : render_text(status)).c_str(), stdout);
  flush_standard_output();
}

int show_status(const CLI::App& app, const ConfigFlags& config_flags, const StatusFlags& flags) {
  StatusRequest request;
  if (flags.run.empty()) {
    if (!config_flags.given())
      refuse_usage("encode status", "no run is named", "an output, a directory, or --config FILE",
                   "none of them");
    request = status_request(config_flags.load().run);
  } else if (std::error_code ignored; std::filesystem::is_directory(flags.run, ignored)) {
    request = status_request_of_directory(flags.run);
  } else {
    request = status_request(run_of_output(flags.run));
  }
  const bool json = app.count("--json") > 0;
  const bool redraw = flags.watch && !json && ::isatty(STDOUT_FILENO) == 1;
  while (true) {
    const RunStatus status = read_run_status(request);
    show(status, json, redraw);
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
  app->add_option("run", flags->run,
                  "Output of the run (its --output), or its cache directory, instead of a config")
      ->type_name("FILE|DIR");
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
