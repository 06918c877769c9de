#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "encode/store.h"

#include "base/path_kind.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "command.h"
#include "run_plan/plan.h"
#include "run_record/run_command.h"
#include "run_record/run_log.h"
#include "run_record/run_of_output.h"
#include "run_record/run_status.h"
#include "shards/shards_status.h"
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
                [](const StreamConfig& stream) { return stream.input.is_standard_input(); });
  config.combine.clear();
  return config;
}

// Returns the matrices that a run with this config makes. Reads the inputs and the models for the
// number of rows and the dimension of each matrix.
std::vector<ExpectedMatrix> expected_matrices(const RunConfig& config) {
  Terminal err(STDERR_FILENO);
  Terminal out(STDOUT_FILENO);
  RunLog log({.level = "warning"}, err, out);
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
    if (!stream.input.is_standard_input()) continue;
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

// Returns the matrices, or the folder, that the command line names; empty if it names a config or
// describes a run.
std::vector<std::string> named_files(const ConfigFlags& config_flags,
                                     const std::vector<std::string>& files) {
  constexpr const char* kExpected =
      "one of: FILE, --output FILE, --cache-dir DIR, --config FILE, or the flags of the run";
  const std::string flags = config_flags.describing();
  if (!files.empty()) {
    if (!flags.empty())
      refuse_usage("encode verify", "the matrices are named twice", kExpected,
                   fmt::format("'{}' and {}", preview(files.front()), flags));
    return files;
  }
  if (config_flags.given()) return {};
  for (const char* const flag : {"--output", "--cache-dir"}) {
    if (const std::string path = config_flags.value_of(flag); !path.empty()) return {path};
  }
  refuse_usage("encode verify", "no matrix is named", kExpected,
               flags.empty() ? "none of them" : fmt::format("only {}", flags));
}

// Returns the command of the run that made the matrix; "" if it is not recorded.
std::string recorded_command(const std::string& matrix_path) {
  try {
    const RunOfOutput run = run_of_output(matrix_path);
    // The last run in a cache directory may have made other matrices.
    if (!run.cache_dir.empty() && !run.unit) return "";
    const RunStatus status = read_run_status(status_request(run));
    return resume_command(status.command, status.input_copy);
  } catch (const Error&) {
    return "";
  }
}

// Returns the command that makes the failed matrices again; "" if no check failed, if it is not
// known, or if they are from several runs.
std::string repairing_command(const ConfigFlags& config_flags, const VerifyReport& report) {
  std::set<std::string> failed;
  for (const Finding& finding : report.findings) {
    if (finding.status == CheckStatus::kFailed) failed.insert(finding.matrix);
  }
  if (failed.empty()) return "";
  if (config_flags.describing() == "--config")
    return shell_command(
        {"encode", report.in_shards ? "merge" : "run", "--config", config_flags.config_path()});
  std::set<std::string> commands;
  for (const MatrixSummary& matrix : report.matrices) {
    if (failed.contains(matrix.name)) commands.insert(recorded_command(matrix.path));
  }
  return commands.size() == 1 ? *commands.begin() : "";
}

int verify(const CLI::App& app, const ConfigFlags& config_flags, const VerifyFlags& flags) {
  VerifyOptions options{.sha256 = flags.sha256};
  const bool json = app.count("--json") > 0;
  VerifyReport report;
  const std::vector<std::string> files = named_files(config_flags, flags.files);
  if (files.empty()) {
    const RunConfig config = config_flags.load().run;
    options.in_shards = has_shard_plan(config.store.cache_dir);
    report = verify_run(expected_matrices(config), config.store.cache_dir, options);
  } else {
    const std::string& first = files.front();
    const bool alone = files.size() == 1;
    if (alone && !json) require_matrix_file(first);
    report = alone && path_kind(first, "npy.open") == PathKind::kDirectory
                 ? verify_folder(first, options)
                 : verify_files(files, options);
  }
  report.command = repairing_command(config_flags, report);
  constexpr size_t kFailureColumn = 8;
  const Terminal out(STDOUT_FILENO);
  const std::string text =
      json ? render_json(report) + "\n"
           : out.wrapped(render_table(report, out.text_columns()), kFailureColumn);
  std::fputs(text.c_str(), stdout);
  return static_cast<int>(report.exit_code());
}

}  // namespace

Command add_verify_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "verify", "Check finished matrices: shapes, values, checksums, options of the run");
  const ConfigFlags config_flags(
      *app, {"--model", "--input", "--field", "--output", "--cache-dir", "--json"});
  const auto flags = std::make_shared<VerifyFlags>();
  app->add_option(
         "files", flags->files,
         "Matrices (.npy, .parquet, .arrow) and lists of parts (x.parts.json) to check without a "
         "config, or a folder with them")
      ->type_name("FILE");
  app->add_flag("--sha256", flags->sha256, "Also print the SHA-256 of each file");
  return {app, [app, config_flags, flags] { return verify(*app, config_flags, *flags); }};
}

}  // namespace encode
