// The commands that describe the program: completions for shells, the manual page, the version.
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "build_commit.h"
#include "build_settings.h"
#include "command.h"
#include "kernels/kernels.h"
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

std::vector<std::string> items_of(const char* list) {
  std::vector<std::string> items;
  std::istringstream text(list);
  for (std::string item; std::getline(text, item, ';');) items.push_back(item);
  return items;
}

// Returns how this program was built. libtorch, arrow and cuda are the libraries for which
// encode-worker and the plugins were built, or "" if they were not built. Throws Error
// "cpu.capability" if ENCODE_CPU_CAPABILITY has a value that is not valid.
Json build_facts() {
  return {{"version", ENCODE_VERSION},
          {"commit", build::kCommit},           // with "-dirty" if files were changed; or "unknown"
          {"commit_date", build::kCommitDate},  // the date of CMakeLists.txt if there is no git
          {"compiler", build::kCompiler},
          {"build_type", build::kBuildType},
          {"processor", build::kProcessor},
          {"libtorch", build::kTorch},
          {"arrow", build::kArrow},
          {"cuda", build::kCuda},
          {"cuda_architectures", items_of(build::kCudaArchitectures)},
          {"cpu_instruction_sets", items_of(build::kInstructionSets)},
          {"cpu_instruction_set", kernels::to_string(kernels::capability())}};
}

std::string version_text(const Json& facts) {
  const auto text = [&](const char* key) { return facts.at(key).get<std::string>(); };
  const auto list = [&](const char* key) {
    return fmt::format("{}", fmt::join(facts.at(key).get<std::vector<std::string>>(), " "));
  };
  const auto or_none = [&](const char* key) { return text(key).empty() ? "none" : text(key); };
  const std::string cuda =
      text("cuda").empty()
          ? "none"
          : fmt::format("CUDA {}, architectures {}", text("cuda"), list("cuda_architectures"));
  return fmt::format(
      "encode {}\n"
      "commit        {} of {}\n"
      "compiler      {}, {}, {}\n"
      "LibTorch      {}\n"
      "Arrow         {}\n"
      "CUDA plugin   {}\n"
      "CPU kernels   {}; this machine uses {}\n",
      text("version"), text("commit"), text("commit_date"), text("compiler"), text("build_type"),
      text("processor"), or_none("libtorch"), or_none("arrow"), cuda, list("cpu_instruction_sets"),
      text("cpu_instruction_set"));
}

}  // namespace

Command add_completions_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "completions", "Print the script that completes commands and options in a shell");
  const auto shell = std::make_shared<std::string>();
  app->add_option("shell", *shell, "The shell: bash, zsh or fish")
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
            const Json facts = build_facts();
            return print(manual_page(command_tree(main), facts.at("version").get<std::string>(),
                                     facts.at("commit_date").get<std::string>()));
          }};
}

Command add_version_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand("version", kVersionHelp);
  const auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, std::string("Print one JSON document"));
  return {app, [json] {
            const Json facts = build_facts();
            return print(*json ? facts.dump() + "\n" : version_text(facts));
          }};
}

}  // namespace encode
