// The commands that describe the program: completions for shells, the manual page, the version.
#include <cstdio>
#include <memory>
#include <string>

#include "base/json.h"
#include "build_facts.h"
#include "command.h"
#include "shell/shell_texts.h"

namespace encode {
namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  flush_standard_output();
  return 0;
}

std::string completions(const CommandEntry& root, const std::string& shell) {
  if (shell == "bash") return bash_completions(root);
  if (shell == "zsh") return zsh_completions(root);
  if (shell == "fish") return fish_completions(root);
  refuse_usage("encode completions", "there are no completions for this shell", "bash, zsh or fish",
               "'" + shell + "'");
}

}  // namespace

Command add_completions_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand("completions", "Print the completions of a shell");
  const auto shell = std::make_shared<std::string>();
  app->add_option("shell", *shell, "The shell that reads them")
      ->required()
      ->type_name("bash|zsh|fish");
  app->footer(
      "Packages install the completions. Without a package:\n"
      "  bash: source <(encode completions bash)\n"
      "  zsh:  source <(encode completions zsh)\n"
      "  fish: encode completions fish | source");
  return {app, [&main, shell] { return print(completions(command_tree(main), *shell)); }};
}

Command add_man_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand("man", "Print the manual page");
  app->footer("Example: encode man | man -l -");
  return {app, [&main] {
            const BuildFacts facts = build_facts();
            return print(manual_page(command_tree(main), facts.version, facts.commit_date));
          }};
}

Command add_version_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand("version", "Print the version, and how it was built");
  const auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, std::string("Print one JSON document"));
  return {app, [json] {
            const BuildFacts facts = build_facts();
            return print(*json ? to_json(facts).dump() + "\n" : render(facts));
          }};
}

}  // namespace encode
