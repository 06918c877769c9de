#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/units.h"
#include "command.h"
#include "shell/shell_texts.h"

namespace encode {
namespace {

struct Misuse {
  std::string what;
  std::string expected;
  std::string found;
  std::string hint;
  std::string where = "command line";
};

[[noreturn]] void refuse(Misuse misuse) {
  throw Error({.code = "usage",
               .what = std::move(misuse.what),
               .where = std::move(misuse.where),
               .expected = std::move(misuse.expected),
               .found = std::move(misuse.found),
               .hint = std::move(misuse.hint)});
}

// Returns the command that the command line names: the innermost one, or `main`.
const CLI::App& named_command(const CLI::App& main) {
  const CLI::App* app = &main;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

CommandEntry entry_of(const CLI::App& main, const CLI::App& command) {
  std::vector<std::string> path;
  for (const CLI::App* app = &command; app != &main; app = app->get_parent())
    path.insert(path.begin(), app->get_name());
  return command_tree(command, path);
}

std::string help_command(const CommandEntry& entry) {
  return fmt::format("encode {}{}--help", fmt::join(entry.path, " "),
                     entry.path.empty() ? "" : " ");
}

constexpr const char* kSeveralFiles =
    "several files are one input: give a pattern in quotes, as in --input 'part-*.jsonl', or a "
    "list in a config (file: [a.jsonl, b.jsonl])";

// Refuses a flag that takes one value and has several.
[[noreturn]] void refuse_repeated(const CLI::Option& flag) {
  const std::string name = flag.get_name();
  std::vector<std::string> values;
  for (const std::string& value : flag.results())
    values.push_back(fmt::format("'{}'", preview(value)));
  refuse({.what = fmt::format("{} is given more than once", name),
          .expected = fmt::format("one {}", name),
          .found = fmt::format("{}", fmt::join(values, ", ")),
          .hint = name == "--input" ? kSeveralFiles : "leave out all but one of them"});
}

// Refuses the value of a flag, or its absence. Does nothing if the error is about something else.
// CLI11 writes "-k: Value 0 not in range 1 to 10000", "--format: x not in {lines,json}" and
// "--field: 1 required NAME missing".
void refuse_value(const CLI::App& command, const CLI::ParseError& error, const std::string& help) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(": "));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && option->results().empty())
    refuse({.what = fmt::format("{} needs a value", name),
            .expected = fmt::format("{} {}", name, option->get_type_name()),
            .found = "no value",
            .hint = "see " + help,
            .where = name});
  constexpr std::string_view kOutside = " not in ";
  const size_t outside = message.find(kOutside);
  if (dynamic_cast<const CLI::ValidationError*>(&error) == nullptr ||
      outside == std::string::npos || option->results().empty())
    return;
  refuse({.what = fmt::format("the value of {} is not valid", name),
          .expected = fmt::format("a value in {}", message.substr(outside + kOutside.size())),
          .found = fmt::format("'{}'", preview(option->results().back())),
          .hint = "see " + help,
          .where = name});
}

// Refuses a command line that CLI11 does not accept. CLI11's messages name its classes and types,
// so only the sentence about the flag is shown.
[[noreturn]] void refuse(const CLI::App& main, const CLI::ParseError& error,
                         const std::string& typed) {
  const CLI::App& command = named_command(main);
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 1 && option->get_items_expected_max() == 1) refuse_repeated(*option);
  }
  const CommandEntry entry = entry_of(main, command);
  refuse_value(command, error, help_command(entry));
  std::vector<std::string> names;
  for (const CommandEntry& sub : entry.commands) names.push_back(sub.path.back());
  const bool no_command =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !names.empty();
  refuse({.what = no_command ? "no command is named" : error.what(),
          .expected =
              no_command ? fmt::format("one of: {}", fmt::join(names, ", ")) : usage_text(entry),
          .found = fmt::format("encode {}", preview(typed)),
          .hint = "see " + help_command(entry)});
}

// Returns the long names of the options that have an effect.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (is_retired(*option)) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// An option that other programs have, and what does the same here.
struct UsualOption {
  std::string_view word;
  std::string_view name;
  std::string_view more = "";  // follows the name in the hint
};

constexpr std::array<UsualOption, 29> kUsualOptions = {{
    {"-b", "--batch-size"},
    {"-d", "--device"},
    {"-f", "--field"},
    {"-i", "--input"},
    {"-l", "--max-length"},
    {"-m", "--model"},
    {"-n", "--limit-rows"},
    {"-o", "--output"},
    {"-q", "--quiet"},
    {"-t", "--threads"},
    {"-v", "--log-level", " debug, or encode --version"},
    {"--bf16", "--dtype", " bfloat16"},
    {"--column", "--field"},
    {"--cuda", "--device", " cuda"},
    {"--debug", "--log-level", " debug"},
    {"--fp16", "--dtype", " float16"},
    {"--gpu", "--device", " cuda"},
    {"--input-format", "--format"},
    {"--limit", "--limit-rows"},
    {"--max-seq-length", "--max-length"},
    {"--max_seq_length", "--max-length"},
    {"--normalize-embeddings", "--normalize"},
    {"--normalize_embeddings", "--normalize"},
    {"--precision", "--dtype", " or --output-dtype"},
    {"--text-column", "--field"},
    {"--text-field", "--field"},
    {"--torch-dtype", "--dtype"},
    {"--trust-remote-code", "--ignore-custom-code", " (encode runs no Python code of a model)"},
    {"--verbose", "--log-level", " debug"},
}};

// Returns the option that the user probably meant: the word is a typo of it ("--ouput"), or begins
// with it ("--output-file" for "--output"). Returns "" if there is no such option.
std::string misspelled_option(const std::string& word, const std::vector<std::string>& names) {
  std::string begin;
  for (const std::string& name : names) {
    if (word.starts_with(name + "-") && name.size() > begin.size()) begin = name;
  }
  const std::string shorter = begin;
  begin += begin.empty() ? "--" : "-";
  // Only what follows `begin` is compared: the common beginning would make every name look like the
  // word.
  std::vector<std::string> rests;
  for (const std::string& name : names) {
    if (name.starts_with(begin)) rests.push_back(name.substr(begin.size()));
  }
  const size_t at = word.starts_with(begin) ? begin.size() : word.find_first_not_of('-');
  const std::string rest = word.substr(std::min(at, word.size()));
  const std::string near = nearest(rest, rests.data(), rests.size());
  return near.empty() ? shorter : begin + near;
}

// Returns what an unknown option probably stands for: "--batch-size or --batch-tokens" for
// "--batch", "--model" for "-m". Returns "" if no option is like it.
std::string meant_option(const std::string& word, const std::vector<std::string>& names) {
  const auto* const usual =
      std::find_if(kUsualOptions.begin(), kUsualOptions.end(),
                   [&](const UsualOption& other) { return other.word == word; });
  if (usual != kUsualOptions.end() &&
      std::find(names.begin(), names.end(), usual->name) != names.end())
    return fmt::format("{}{}", usual->name, usual->more);
  constexpr size_t kMostOffered = 4;
  const bool letter = word.size() == 2;
  const std::string begin = letter ? "-" + word : word;
  std::vector<std::string> longer;
  std::copy_if(names.begin(), names.end(), std::back_inserter(longer),
               [&](const std::string& name) { return name.starts_with(begin); });
  if (begin.size() > 2 && !longer.empty() && longer.size() <= kMostOffered)
    return fmt::format("{}", fmt::join(longer, " or "));
  return letter ? "" : misspelled_option(word, names);
}

// Returns the flag that takes a file of this name: "--input", "--config", or "" if no flag does.
const char* flag_of_file(const std::string& name) {
  const std::string suffix = lower_case_suffix(name);
  if (suffix == ".yaml" || suffix == ".yml") return "--config";
  InputOptions input;
  input.path = name;
  if (input_format(input).format != TextFormat::kAuto) return "--input";
  std::error_code error;  // a file that cannot be seen gets no advice
  return suffix.empty() && std::filesystem::is_regular_file(name, error) ? "--input" : "";
}

// Returns the advice about a file that no flag takes, or "" if the command has no flag for it.
std::string advice_about_file(const CLI::App& main, const CLI::App& app, const std::string& name) {
  const bool no_command = &app == &main;
  const CLI::App& command = no_command ? *main.get_subcommand(kImpliedCommand) : app;
  const std::string flag = flag_of_file(name);
  const CLI::Option* option = flag.empty() ? nullptr : command.get_option_no_throw(flag);
  if (option == nullptr || option->get_group() == kHiddenGroup) return "";
  if (flag == "--input" && option->count() > 0) return kSeveralFiles;
  return fmt::format("give the file as {}{} {}", no_command ? "encode run " : "", flag,
                     preview(name));
}

[[noreturn]] void refuse_extra(const CLI::App& main, const CLI::App& app, const std::string& extra,
                               bool implied) {
  const bool option = extra.starts_with('-');
  std::vector<std::string> names;
  if (!option) {
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  }
  const std::string near = option
                               ? meant_option(extra.substr(0, extra.find('=')), option_names(app))
                               : nearest(extra, names.data(), names.size());
  const CommandEntry entry = entry_of(main, app);
  const std::string help = implied ? "encode --help" : help_command(entry);
  const char* kind = option ? "option" : names.empty() ? "argument" : "command";
  std::string expected = option ? "an option that the help lists" : "no argument";
  if (!names.empty()) expected = fmt::format("one of: {}", fmt::join(names, ", "));
  std::string hint =
      near.empty() ? "see " + help : fmt::format("did you mean {}? See {}", near, help);
  const std::string advice = option ? "" : advice_about_file(main, app, extra);
  if (!advice.empty()) hint = fmt::format("{}; see {}", advice, help);
  refuse({.what = fmt::format("unknown {} '{}'", kind, preview(extra)),
          .expected = std::move(expected),
          .found = fmt::format("'{}'", preview(extra)),
          .hint = std::move(hint)});
}

bool implies_command(const std::string& first) {
  return first.starts_with('-') && first != "-h" && first != "--help";
}

// Inserts the implied command if the arguments begin with a flag instead of a command. The flag
// --version stands for a command, and "help X" for "X --help".
std::vector<std::string> with_command(std::vector<std::string> arguments) {
  if (arguments.empty()) return {"--help"};
  const std::string first = arguments.front();
  if (first == "--version" || first == "-V") {
    arguments.front() = "version";
  } else if (first == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  } else if (implies_command(first)) {
    arguments.insert(arguments.begin(), kImpliedCommand);
  }
  return arguments;
}

int run_command(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return 0;
}

}  // namespace

void refuse_usage(const std::string& command, std::string what, std::string expected,
                  std::string found) {
  refuse({.what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = fmt::format("see {} --help", command)});
}

int run_command_line(std::vector<std::string> arguments) {
  CLI::App main("Turns text files into embedding matrices, in chunks that survive an interruption.",
                "encode");
  const std::string version_help = kVersionHelp;
  main.add_flag("--version,-V", version_help);
  main.require_subcommand(1);
  std::vector<Command> commands = {
      add_run_command(main),         add_retry_failed_command(main), add_shards_command(main),
      add_merge_command(main),       add_slurm_command(main),        add_status_command(main),
      add_verify_command(main),      add_compare_command(main),      add_config_command(main),
      add_tokenize_command(main),    add_models_command(main),       add_bench_command(main),
      add_preflight_command(main),   add_plan_command(main),         add_cache_command(main),
      add_pull_command(main),        add_search_command(main),       add_report_command(main),
      add_completions_command(main), add_man_command(main),          add_reference_command(main),
      add_version_command(main)};
  // The footer is set after the commands are added, because CLI11 copies an existing footer to each
  // new command.
  main.footer(
      "Example:\n"
      "  encode run --model DIR --input texts.jsonl --field text --output out.npy\n"
      "`encode help COMMAND` describes a command. Without a command, the options are those of "
      "`encode run`.");
  const std::string typed = fmt::format("{}", fmt::join(arguments, " "));
  const bool implied = !arguments.empty() && implies_command(arguments.front());
  arguments = with_command(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects them in reverse order
  const auto refuse_extras = [&] {
    for (const CLI::App* app = &main; app != nullptr;) {
      if (!app->remaining().empty()) refuse_extra(main, *app, app->remaining().front(), implied);
      app = app->get_subcommands().empty() ? nullptr : app->get_subcommands().front();
    }
  };
  try {
    main.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    refuse_extras();
    std::fputs(help_text(entry_of(main, named_command(main))).c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    refuse_extras();
    refuse(main, error, typed);
  }
  return run_command(commands);
}

}  // namespace encode
