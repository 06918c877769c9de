#include "command_line.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "command.h"
#include "shell/command_tree.h"

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

[[noreturn]] void refuse(const CLI::ParseError& error) {
  refuse({.what = error.what(),
          .expected = "a command and its flags, as the help shows",
          .found = fmt::format("a command line with a {}", error.get_name()),
          .hint = "see encode --help"});
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

[[noreturn]] void refuse_extra(const CLI::App& app, const std::string& extra) {
  const bool flag = extra.starts_with('-');
  std::vector<std::string> names;
  if (flag) {
    names = flag_names(app);
  } else {
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  }
  const std::string word = extra.substr(0, extra.find('='));
  const std::string near = nearest(word, names.data(), names.size());
  const std::string help = app.get_parent() != nullptr
                               ? fmt::format("encode {} --help", app.get_name())
                               : "encode --help";
  const char* kind = flag ? "flag" : names.empty() ? "argument" : "command";
  refuse(
      {.what = fmt::format("unknown {} '{}'", kind, preview(extra)),
       .expected =
           names.empty() ? "no argument" : fmt::format("one of: {}", fmt::join(names, ", ")),
       .found = fmt::format("'{}'", preview(extra)),
       .hint = near.empty() ? "see " + help : fmt::format("did you mean {}? See {}", near, help)});
}

// Inserts the implied command if the arguments begin with a flag instead of a command. The flag
// --version stands for a command.
std::vector<std::string> with_command(std::vector<std::string> arguments) {
  if (arguments.empty()) return {"--help"};
  const std::string first = arguments.front();
  if (first == "--version") {
    arguments.front() = "version";
  } else if (first.starts_with('-') && first != "-h" && first != "--help") {
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
  CLI::App main(
      "Turns text files into embedding matrices, in chunks that survive an interruption.\n"
      "`encode --config FILE` is short for `encode run --config FILE`.",
      "encode");
  const std::string version_help = "Print the version, and how it was built";
  main.add_flag("--version", version_help);
  main.require_subcommand(1);
  std::vector<Command> commands = {
      add_run_command(main),         add_retry_failed_command(main), add_status_command(main),
      add_verify_command(main),      add_compare_command(main),      add_config_command(main),
      add_tokenize_command(main),    add_models_command(main),       add_bench_command(main),
      add_preflight_command(main),   add_plan_command(main),         add_cache_command(main),
      add_pull_command(main),        add_search_command(main),       add_report_command(main),
      add_completions_command(main), add_man_command(main),          add_version_command(main)};
  arguments = with_command(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects them in reverse order
  try {
    main.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    for (const Command& command : commands) {
      const std::vector<std::string> extras = command.app->remaining();
      if (!extras.empty()) refuse_extra(*command.app, extras.front());
    }
    refuse_extra(main, main.remaining().front());
  } catch (const CLI::RequiredError& error) {
    const bool extra = !main.remaining().empty();
    if (extra) refuse_extra(main, main.remaining().front());
    refuse(error);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return main.exit(error);
    refuse(error);
  }
  return run_command(commands);
}

}  // namespace encode
