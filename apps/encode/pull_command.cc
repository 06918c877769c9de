#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "encode/model_directory.h"

#include "base/stop_signal.h"
#include "base/units.h"
#include "command.h"
#include "pull_models.h"
#include "run_record/terminal.h"

namespace encode {
namespace {

struct PullFlags {
  std::string model;
  int64_t retries = hub::HubSettings().retries;
  bool ignore_custom_code = false;
};

int run_pull(const PullFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  end_at_once_if_asked_for_restart();  // what is on the disk by then is kept
  hub::PullRequest request = hub::parse_pull_request(flags.model);
  request.code = custom_code_policy(flags.ignore_custom_code);
  hub::HubSettings settings = hub::hub_settings();
  settings.retries = flags.retries;
  hub::PullResult result;
  {
    Terminal err(STDERR_FILENO);
    result = pull_model(request, settings, err);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    err.write(fmt::format("{} at {}: {}, {}, {} fetched in {}\n", request.model, result.commit,
                          format_count(result.files, "file", "files"), format_bytes(result.bytes),
                          format_bytes(result.fetched_bytes), format_duration(time.count())));
  }
  open_model_directory(result.snapshot,
                       request.code);  // tells at once if encode cannot use the model
  std::puts(result.snapshot.c_str());
  flush_standard_output();
  return 0;
}

}  // namespace

Command add_pull_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "pull", "Download a model from the Hugging Face Hub into its cache on this machine");
  const auto flags = std::make_shared<PullFlags>();
  app->add_option("model", flags->model, "ORG/NAME, or ORG/NAME@REVISION (branch, tag or commit)")
      ->required()
      ->type_name("MODEL");
  app->add_option("--retries", flags->retries,
                  "How often a request is repeated after a failure that may pass (default 5)")
      ->check(CLI::Range(0, 100));
  app->add_flag(
      "--ignore-custom-code", flags->ignore_custom_code,
      "Download a model whose Python code encode does not know, for a run with this flag");
  app->footer(
      "Example: encode pull sentence-transformers/all-MiniLM-L6-v2\n"
      "Prints the folder of the model. A download that was cut off goes on when the command runs "
      "again. Only the files that an encoder needs are downloaded, and Python tools find them, "
      "too. docs/pull.md lists the variables (HF_TOKEN, HF_HOME, HF_ENDPOINT, ...).");
  return {app, [flags] { return run_pull(*flags); }};
}

}  // namespace encode
