#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "base/output_types.h"
#include "command.h"
#include "run_record/terminal.h"
#include "store/verify/compare.h"

namespace encode {
namespace {

struct CompareFlags {
  std::string a;
  std::string b;
  double max_difference = 0;
  double min_cosine = 0;
  int64_t worst_rows = 5;
  bool json = false;
};

int compare(const CLI::App& app, const CompareFlags& flags) {
  CompareOptions options;
  if (app.count("--max-difference") > 0) options.max_difference = flags.max_difference;
  if (app.count("--min-cosine") > 0) options.min_cosine = flags.min_cosine;
  options.worst_rows = flags.worst_rows;
  const CompareReport report = compare_matrices(flags.a, flags.b, options);
  constexpr size_t kFailureColumn = 8;
  const std::string text =
      flags.json ? render_json(report) + "\n"
                 : Terminal(STDOUT_FILENO).wrapped(render_table(report), kFailureColumn);
  std::fputs(text.c_str(), stdout);
  return static_cast<int>(report.exit_code());
}

}  // namespace

Command add_compare_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("compare", "Compare two matrices row by row: cosines and differences");
  const auto flags = std::make_shared<CompareFlags>();
  app->add_option(
         "A", flags->a,
         fmt::format(
             "A matrix: a .npy, Parquet or Arrow file of any output type, or a list of parts "
             "(x.parts.json). {} need their manifest beside them",
             quantized_types_in_words()))
      ->required()
      ->type_name("FILE");
  app->add_option("B", flags->b,
                  "Another matrix with the same rows and dimensions; it may have another type")
      ->required()
      ->type_name("FILE");
  app->add_option("--max-difference", flags->max_difference,
                  "Fail with exit code 65 if any |a - b| is larger");
  app->add_option("--min-cosine", flags->min_cosine,
                  "Fail with exit code 65 if the cosine of any row is smaller");
  app->add_option("--rows", flags->worst_rows,
                  "How many of the rows that differ to list (default 5)")
      ->check(CLI::Range(0, 1000));
  app->add_flag("--json", flags->json, "Write JSON to standard output instead of a table");
  return {app, [app, flags] { return compare(*app, *flags); }};
}

}  // namespace encode
