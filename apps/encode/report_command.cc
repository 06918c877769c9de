#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "command.h"
#include "report/report.h"

namespace encode {

namespace {

struct ReportFlags {
  std::string config;
  std::string output = "report.html";
};

}  // namespace

Command add_report_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "report", "Write an HTML page about a run: throughput, memory, texts, vectors, faults");
  const auto flags = std::make_shared<ReportFlags>();
  app->add_option("--config", flags->config, "The config of the run (YAML)")
      ->required()
      ->type_name("FILE");
  app->add_option("--output", flags->output, "The page to write (default: report.html)")
      ->type_name("FILE");
  app->footer(
      "Example:\n"
      "  encode report --config configs/experiment.yaml --output report.html\n"
      "The command reads the files of the run, also while the run goes on, and writes only the "
      "page. Exit code 0 means that the page was written; the page says what is missing or "
      "damaged.");
  return {app, [flags] {
            write_report(flags->output, collect_report(load_config(flags->config, {})));
            fmt::print("{}\n", printable(flags->output));
            return 0;
          }};
}

}  // namespace encode
