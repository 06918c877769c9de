#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "encode/store.h"

#include "command.h"
#include "run_plan/plan.h"
#include "run_record/run_log.h"
#include "store/verify/verify.h"

namespace encode {
namespace {

struct VerifyFlags {
  std::vector<std::string> files;
  bool sha256 = false;
};

// Removes the streams that read standard input, because it cannot be read a second time.
RunConfig without_standard_input(RunConfig config) {
  std::erase_if(config.streams,
                [](const StreamConfig& stream) { return stream.input.path == "-"; });
  config.combine.clear();
  return config;
}

// Returns the matrices that a run with this config makes. Reads the inputs and the models for the
// number of rows and the dimension of each matrix.
std::vector<ExpectedMatrix> expected_matrices(const RunConfig& config) {
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  LogOptions quiet;
  quiet.level = "warning";
  RunLog log(quiet, err, out);
  std::vector<ExpectedMatrix> expected;
  for (const StreamPlan& stream :
       make_plan(without_standard_input(config), PlanPurpose::kAudit, log).streams) {
    expected.push_back({.name = stream.identity.name,
                        .path = stream.final_path,
                        .group = stream.config.split,
                        .rows = stream.identity.rows,
                        .dim = stream.identity.dim,
                        .fingerprint = stream.identity.fingerprint,
                        .format = config.store.final_format,
                        .quarantine = config.store.quarantine});
  }
  for (const StreamConfig& stream : config.streams) {
    if (stream.input.path != "-") continue;
    expected.push_back({.name = stream.name(),
                        .path = final_path_of(config, stream.name()),
                        .group = stream.split,
                        .rows = {},
                        .dim = {},
                        .fingerprint = {}});
  }
  for (const CombineConfig& combine : config.combine) {
    expected.push_back({.name = combined_name(combine),
                        .path = final_path(config.store.cache_dir, combined_name(combine)),
                        .group = combine.split,
                        .rows = {},
                        .dim = {},
                        .fingerprint = {},
                        .quarantine = config.store.quarantine});
  }
  return expected;
}

int verify(const CLI::App& app, const ConfigFlags& config_flags, const VerifyFlags& flags) {
  const VerifyOptions options{.sha256 = flags.sha256};
  VerifyReport report;
  if (flags.files.empty()) {
    if (!config_flags.given())
      refuse_usage("encode verify", "no matrix is named", "FILE, or --config FILE", "neither");
    const RunConfig config = config_flags.load().run;
    report = verify_run(expected_matrices(config), config.store.cache_dir, options);
  } else {
    report = verify_files(flags.files, options);
  }
  const bool json = app.count("--json") > 0;
  std::fputs((json ? render_json(report) + "\n" : render_table(report)).c_str(), stdout);
  return static_cast<int>(report.exit_code());
}

}  // namespace

Command add_verify_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "verify", "Check finished matrices: shapes, values, checksums, options of the run");
  const ConfigFlags config_flags(
      *app, {"--model", "--input", "--field", "--output", "--cache-dir", "--json"});
  const auto flags = std::make_shared<VerifyFlags>();
  app->add_option("files", flags->files,
                  "Matrices (.npy, .parquet, .arrow) to check without a config")
      ->type_name("FILE");
  app->add_flag("--sha256", flags->sha256, "Also print the SHA-256 of each file");
  return {app, [app, config_flags, flags] { return verify(*app, config_flags, *flags); }};
}

}  // namespace encode
