#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/output_format.h"
#include "base/path_kind.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "command.h"
#include "run_record/terminal.h"
#include "search/search.h"
#include "search/search_report.h"
#include "store/parts_list.h"

namespace encode {
namespace {

constexpr const char* kMatrixWord = "MATRIX";

struct SearchFlags {
  std::string first_word;  // the matrix, or a query if a flag names the matrix
  std::string config;
  std::string stream;
  std::string matrix;
  std::vector<std::string> texts;
  std::string model;
  std::vector<std::string> queries;
  std::string queries_file;
  std::string prompt;
  std::string prompt_name;
  std::string device;
  int64_t threads = 0;
  int64_t count = 10;
  bool json = false;
};

// Throws the Error for a command line whose first word is not a matrix.
[[noreturn]] void refuse_first_word(const std::string& word, const std::vector<std::string>& more) {
  const auto matrix = std::find_if(more.begin(), more.end(), [](const std::string& text) {
    return matrix_format_of(text) && path_exists(text, "npy.open");
  });
  if (matrix == more.end())
    refuse_usage("encode search", "no matrix is named",
                 "MATRIX before the texts, --matrix FILE, or --config FILE",
                 word.empty() ? "none of them" : fmt::format("the text '{}'", preview(word)));
  throw Error(
      {.code = "usage",
       .what = "the matrix comes after a text",
       .where = "command line",
       .expected = "encode search MATRIX TEXT...",
       .found = fmt::format("'{}' before '{}'", preview(word), preview(*matrix)),
       .hint = "put the matrix first: " + shell_command({"encode", "search", *matrix, word})});
}

// The first word is the path of the matrix, unless a flag names the matrix. If no file has this
// path, the suffix tells a misplaced query from a matrix that does not exist.
void sort_words(const CLI::App& app, SearchFlags& flags) {
  const std::string word = std::exchange(flags.first_word, "");
  const bool by_config = app.count("--config") > 0;
  if (!by_config && app.count("--stream") > 0)
    refuse_usage("encode search", "--stream names a stream of a config, and there is none",
                 "--config FILE with --stream, or a matrix without it",
                 fmt::format("--stream {}", preview(flags.stream)));
  if (by_config || app.count("--matrix") > 0) {
    if (app.count(kMatrixWord) > 0) flags.queries.insert(flags.queries.begin(), word);
  } else if (matrix_format_of(word) || is_parts_list(word) || path_exists(word, "npy.open")) {
    flags.matrix = word;
  } else {
    refuse_first_word(word, flags.queries);
  }
  if (flags.queries.empty() || app.count("--queries") == 0) return;
  refuse_usage("encode search", "there are two sources of queries", "texts, or --queries FILE",
               "both");
}

SearchTarget target_of(const CLI::App& app, const SearchFlags& flags) {
  SearchTarget target;
  if (app.count("--config") > 0) {
    target = find_stream(load_config(flags.config, {}).run, flags.stream);
  } else {
    target.matrix_path = flags.matrix;
  }
  if (app.count("--model") > 0) {
    target.model = flags.model;
    target.revision.reset();
  }
  if (app.count("--texts") > 0) target.texts = flags.texts;
  if (app.count("--device") > 0) {
    target.hardware.device = device_of_flag(flags.device);
    target.hardware.devices.clear();
    target.hardware.all_devices = false;
  }
  if (app.count("--threads") > 0) target.threads = flags.threads;
  return target;
}

QuerySource queries_of(const CLI::App& app, const SearchFlags& flags) {
  if (!flags.queries.empty()) return {.texts = flags.queries};
  if (app.count("--queries") > 0) return {.file = flags.queries_file};
  if (::isatty(STDIN_FILENO) == 1) {
    refuse_usage("encode search", "there is no query",
                 "a text, --queries FILE, or lines on standard input", "none");
  }
  return {};
}

int search(const CLI::App& app, SearchFlags& flags) {
  sort_words(app, flags);
  SearchRequest request = {.target = target_of(app, flags),
                           .queries = queries_of(app, flags),
                           .prompt = {},
                           .count = flags.count};
  if (app.count("--prompt") > 0) request.prompt.text = flags.prompt;
  if (app.count("--prompt-name") > 0) request.prompt.name = flags.prompt_name;
  SearchSetting setting;
  const size_t columns = Terminal(STDOUT_FILENO).columns();
  const int stopped_by = run_search(request, run_environment(),
                                    {.on_start =
                                         [&](const SearchSetting& started) {
                                           setting = started;
                                           if (!flags.json)
                                             std::fputs(render_setting(setting).c_str(), stdout);
                                         },
                                     .on_result =
                                         [&](const SearchResult& result) {
                                           const std::string text =
                                               flags.json ? to_json_line(setting, result) + "\n"
                                                          : render_result(setting, result, columns);
                                           std::fputs(text.c_str(), stdout);
                                         }});
  return stopped_by == 0 ? 0 : end_by_signal(stopped_by);
}

void add_flags(CLI::App& app, SearchFlags& flags) {
  app.add_option(
         kMatrixWord, flags.first_word,
         "Output of encode run to search: a .npy, Parquet or Arrow file of any output type, or the "
         "list x.parts.json of encode merge. With --config or --matrix this is the first text")
      ->type_name("FILE");
  app.add_option("text", flags.queries,
                 "Texts to search for, each a query of its own; put a text of several words in "
                 "quotes");
  app.add_option("--queries", flags.queries_file,
                 "File with a query on each line; \"-\" is standard input")
      ->type_name("FILE");
  app.add_option("--config,-c", flags.config, "Config file (YAML) of the run that made the matrix")
      ->type_name("FILE");
  app.add_option("--stream", flags.stream,
                 "Stream of the config, if it has several, such as tc or train_tc");
  CLI::Option* matrix = app.add_option("--matrix", flags.matrix, "The same as MATRIX");
  matrix->type_name("FILE")
      ->excludes(app.get_option("--config"))
      ->excludes(app.get_option("--stream"));
  app.add_option(
         "--model", flags.model,
         "Model directory or hub id of the run (default: as the config or the record of the "
         "run names it)")
      ->type_name("DIR");
  app.add_option("--texts", flags.texts,
                 "File that was encoded (default: as the config or the manifest names it); may be "
                 "given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("-k", flags.count, "How many rows to show for a query (default 10)")
      ->check(CLI::Range(int64_t{1}, kMaxHits));
  app.add_option("--prompt", flags.prompt,
                 "Text to put before every query (default: the model's prompt \"query\", or the "
                 "prompt of the run)");
  app.add_option("--prompt-name", flags.prompt_name, "Name of one of the model's own prompts")
      ->excludes(app.get_option("--prompt"));
  app.add_option(
         "--device", flags.device,
         "Device that encodes the queries; cuda:N: the GPU with this number (default: that of "
         "the config, or auto)")
      ->type_name("auto|cpu|cuda");
  app.add_option(
         "--threads", flags.threads,
         "Threads that encode the queries and compare rows; 0: as many as the container may use")
      ->check(CLI::Range(int64_t{0}, int64_t{4096}));
  app.add_flag("--json", flags.json, "Write a line of JSON for each query");
}

}  // namespace

Command add_search_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "search", "Find the rows of an output of encode run that are nearest to a text");
  const auto flags = std::make_shared<SearchFlags>();
  add_flags(*app, *flags);
  app->footer(
      "Examples:\n"
      "  encode search --config configs/quickstart.yaml --stream tc \"parse a date\"\n"
      "  encode search out.npy \"parse a date\"\n"
      "  encode search out.npy --model DIR -k 3 --json --queries queries.txt\n"
      "The queries are encoded with the model and the options of the run. docs/search.md explains "
      "the "
      "scores.");
  return {app, [app, flags] { return search(*app, *flags); }};
}

}  // namespace encode
