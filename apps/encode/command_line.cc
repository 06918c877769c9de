#include "command_line.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "encode/error.h"

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
};

[[noreturn]] void refuse(Misuse misuse) {
  throw Error({.exit_code = ExitCode::kUsage,
               .code = "usage",
               .what = std::move(misuse.what),
               .where = "command line",
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

// Refuses what CLI11 does not accept. Its own words name its classes and types, so only its
// sentence about the flag is shown.
[[noreturn]] void refuse(const CLI::App& main, const CLI::ParseError& error,
                         const std::string& typed) {
  const CommandEntry entry = entry_of(main, named_command(main));
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

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

[[noreturn]] void refuse_extra(const CLI::App& main, const CLI::App& app, const std::string& extra,
                               bool implied) {
  const bool flag = extra.starts_with('-');
  std::vector<std::string> names;
  if (flag) {
    names = flag_names(app);
  } else {
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  }
  const std::string word = extra.substr(0, extra.find('='));
  const std::string near = nearest(word, names.data(), names.size());
  const CommandEntry entry = entry_of(main, app);
  const std::string help = implied ? "encode --help" : help_command(entry);
  const char* kind = flag ? "flag" : names.empty() ? "argument" : "command";
  std::string expected = flag ? "a flag that the help lists" : "no argument";
  if (!flag && !names.empty()) expected = fmt::format("one of: {}", fmt::join(names, ", "));
  refuse(
      {.what = fmt::format("unknown {} '{}'", kind, preview(extra)),
       .expected = std::move(expected),
       .found = fmt::format("'{}'", preview(extra)),
       .hint = near.empty() ? "see " + help : fmt::format("did you mean {}? See {}", near, help)});
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
  const std::string version_help = "Print the version, and how it was built";
  main.add_flag("--version,-V", version_help);
  main.require_subcommand(1);
  std::vector<Command> commands = {
      add_run_command(main),         add_retry_failed_command(main), add_status_command(main),
      add_verify_command(main),      add_compare_command(main),      add_config_command(main),
      add_tokenize_command(main),    add_models_command(main),       add_bench_command(main),
      add_preflight_command(main),   add_plan_command(main),         add_cache_command(main),
      add_pull_command(main),        add_search_command(main),       add_report_command(main),
      add_completions_command(main), add_man_command(main),          add_version_command(main)};
  // After the commands, because CLI11 gives each command the footer that it finds here.
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
