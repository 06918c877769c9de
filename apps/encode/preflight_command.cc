#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "command.h"
#include "preflight/preflight.h"
#include "run_plan/resume.h"
#include "run_record/terminal.h"

namespace encode {
namespace {

// Fills the request from the flags. A config with an error does not end the command: the error is
// one of the problems that preflight shows.
PreflightRequest make_request(const CLI::App& app, const ConfigFlags& flags) {
  PreflightRequest request{.config = {}, .worker = run_environment().worker};
  const bool experiment = app.count("--config") + app.count("--input") > 0;
  if (!experiment) {
    if (app.count("--model") > 0) request.model = app["--model"]->as<std::string>();
    if (app.count("--device") > 0)
      request.config.hardware.device = device_of_flag(app["--device"]->as<std::string>());
    return request;
  }
  try {
    request.config = flags.load().run;
  } catch (const Error& error) {
    request.config_error = error.detail();
  }
  return request;
}

int preflight(const CLI::App& app, const ConfigFlags& flags, bool verbose) {
  const Stopwatch watch;
  const PreflightRequest request = make_request(app, flags);
  const StopSignal stop;
  try {
    const PreflightFindings findings = run_preflight(request, stop);
    const size_t columns = Terminal(STDOUT_FILENO).text_columns();
    const std::string text = app.count("--json") > 0
                                 ? render_json(findings, watch.seconds()) + "\n"
                                 : render_text(findings, watch.seconds(), verbose, columns);
    std::fputs(text.c_str(), stdout);
    flush_standard_output();
    return static_cast<int>(findings.exit_code());
  } catch (const Stopped&) {
    return end_by_signal(stop.number());
  }
}

}  // namespace

Command add_preflight_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "preflight", "Check the machine, the model, the inputs and the cache before a long run");
  app->alias("doctor");
  const ConfigFlags flags(*app, {"--model", "--input", "--field", "--format", "--output",
                                 "--cache-dir", "--device", "--devices", "--json"});
  const auto verbose = std::make_shared<bool>(false);
  app->add_flag("--verbose", *verbose, "Show also the green lines, which say what works");
  app->footer(
      "Examples:\n"
      "  encode preflight                           # only the machine\n"
      "  encode preflight --model DIR               # the machine and a model\n"
      "  encode preflight --config experiment.yaml  # everything that the run needs\n"
      "It changes no file, and works while another run uses the cache. A red line says why a run "
      "would fail, a yellow line what may surprise you, and both what to do next. The exit code "
      "is 0 without a red line; otherwise it is the code with which the run would end "
      "(docs/errors.md).");
  return {app, [app, flags, verbose] { return preflight(*app, flags, *verbose); }};
}

}  // namespace encode
