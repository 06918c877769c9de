#include <cstdio>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

#include "bench/bench.h"
#include "bench/bench_report.h"
#include "command.h"
#include "run_record/terminal.h"

namespace encode {
namespace {

int bench(const ConfigFlags& flags, const BenchOptions& options) {
  std::vector<RunConfig> configs;
  for (LoadedConfig& loaded : flags.load_each()) configs.push_back(std::move(loaded.run));
  Terminal err(STDERR_FILENO);
  const BenchEnd end = run_bench(configs, options, run_environment(), err);
  if (end.stopped_by != 0) return end_by_signal(end.stopped_by);
  const std::string text = configs.front().log.json
                               ? to_json(end.report).dump(-1, ' ', /*ensure_ascii=*/true) + "\n"
                               : render(end.report);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

Command add_bench_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "bench", "Time an experiment on its first rows, and its matrix products alone");
  const ConfigFlags flags(*app);
  const auto options = std::make_shared<BenchOptions>();
  app->add_option("--rows", options->rows,
                  "Rows of each stream to use, from its beginning (default 1000)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app->add_option("--runs", options->runs, "How often each setting is timed (default 3)")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  app->add_option("--product-seconds", options->product_seconds,
                  "How long the products alone are timed before and after each run (default 2)")
      ->check(CLI::Range(0.01, 3600.0));
  app->add_flag("--measure-refused", options->measure_refused,
                "Measure a quantized type even if `encode run` refuses it for this model");
  app->footer(
      "--dtype and --batch-tokens may list several values, separated by commas. They are timed in "
      "turn.\n"
      "The runs write to a temporary directory beside the cache directory, and do not touch the "
      "cache.\n"
      "Example:\n"
      "  encode bench --config configs/experiment.yaml --dtype float32,bfloat16");
  return {app, [flags, options] { return bench(flags, *options); }};
}

}  // namespace encode
