#include <fmt/format.h>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "command.h"
#include "report/report.h"

namespace encode {

namespace {

struct ReportFlags {
  std::string matrix;
  std::string model;
  std::string config;
  std::string output = "report.html";
};

Json collect(const ReportFlags& flags) {
  if (flags.config.empty() == flags.matrix.empty())
    refuse_usage("encode report", "name one run", "the output of a run, or --config FILE",
                 flags.config.empty() ? "neither" : "both");
  if (!flags.config.empty()) return collect_report(load_config(flags.config, {}));
  return collect_report(config_of_output(run_of_output(flags.matrix), flags.model));
}

}  // namespace

Command add_report_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "report", "Write an HTML page about a run: throughput, memory, texts, vectors, faults");
  const auto flags = std::make_shared<ReportFlags>();
  app->add_option("matrix", flags->matrix, "Output of the run; instead of --config")
      ->type_name("MATRIX");
  app->add_option("--config,-c", flags->config, "Config file (YAML) of the run")->type_name("FILE");
  app->add_option(
         "--model", flags->model,
         "Directory of the model of MATRIX, to count the tokens of the texts (default: the "
         "model of the run)")
      ->type_name("DIR");
  app->add_option("--output", flags->output, "The page to write (default: report.html)")
      ->type_name("FILE");
  app->footer(
      "Examples:\n"
      "  encode report books.npy\n"
      "  encode report --config configs/experiment.yaml --output report.html\n"
      "The command reads the files of the run, also while the run goes on, and writes only the "
      "page. Exit code 0 means that the page was written; the page says what is missing or "
      "damaged.");
  return {app, [flags] {
            write_report(flags->output, collect(*flags));
            fmt::print("{}\n", printable(flags->output));
            return 0;
          }};
}

}  // namespace encode
