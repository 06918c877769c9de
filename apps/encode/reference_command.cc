// Prints the reference of the program, from which pages in docs/ are made.
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_table.h"
#include "base/units.h"
#include "command.h"
#include "config/reference.h"
#include "model_dir/architecture_table.h"
#include "shell/shell_texts.h"

namespace encode {
namespace {

constexpr const char* kSubjects = "commands, config, errors, exit-codes or architectures";

std::vector<std::string_view> codes_of(const ErrorFacts& row) {
  std::vector<std::string_view> list;
  for (std::string_view codes = row.codes; !codes.empty();) list.push_back(take_code(codes));
  return list;
}

std::vector<int> exits_of(const ErrorFacts& row) {
  std::vector<int> exits;
  for (const ExitCode exit : row.exits) {
    if (exit != ExitCode::kOk) exits.push_back(static_cast<int>(exit));
  }
  return exits;
}

// "66 (77, 74)": an error ends with 66, or, depending on its cause, with one of the others.
std::string exits_text(const ErrorFacts& row) {
  const std::vector<int> exits = exits_of(row);
  if (exits.empty()) return "-";
  if (exits.size() == 1) return std::to_string(exits.front());
  return fmt::format("{} ({})", exits.front(), fmt::join(exits.begin() + 1, exits.end(), ", "));
}

std::string exit_code_reference() {
  std::string text = "| code | meaning | run the same command again? |\n|---|---|---|\n";
  for (const ExitCodeFacts& facts : kExitCodes) {
    text += fmt::format("| {} | {} | {} |\n", static_cast<int>(facts.code), facts.meaning,
                        facts.run_again);
  }
  return text;
}

Json exit_code_reference_json() {
  Json list = Json::array();
  for (const ExitCodeFacts& facts : kExitCodes)
    list.push_back({{"code", static_cast<int>(facts.code)},
                    {"meaning", facts.meaning},
                    {"run_again", facts.run_again}});
  return list;
}

std::string error_reference() {
  std::string text = "| code | exit | meaning | what to do |\n|---|---|---|---|\n";
  for (const ErrorFacts& row : error_table()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", fmt::join(codes_of(row), "`, `"),
                        exits_text(row), row.meaning, row.recovery);
  }
  return text;
}

Json error_reference_json() {
  Json list = Json::array();
  for (const ErrorFacts& row : error_table())
    list.push_back({{"codes", codes_of(row)},
                    {"exits", exits_of(row)},
                    {"meaning", row.meaning},
                    {"recovery", row.recovery}});
  return list;
}

std::string architecture_reference() {
  std::string text = "| model_type | layers | paper | examples |\n|---|---|---|---|\n";
  for (const ArchitectureEntry& entry : kArchitectures) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", entry.model_type, entry.notes.block,
                        entry.notes.source, entry.notes.examples);
  }
  return text;
}

std::string reference(const CommandEntry& root, const std::string& subject, bool json) {
  const auto chosen = [json](auto* markdown, auto* data, const auto&... of) {
    return json ? data(of...).dump(2) + "\n" : markdown(of...);
  };
  if (subject == "commands") return chosen(command_reference, command_reference_json, root);
  if (subject == "config") return chosen(config_reference, config_reference_json);
  if (subject == "errors") return chosen(error_reference, error_reference_json);
  if (subject == "exit-codes") return chosen(exit_code_reference, exit_code_reference_json);
  if (subject == "architectures") return chosen(architecture_reference, architectures_json);
  refuse_usage("encode reference", "there is no reference of this name", kSubjects,
               "'" + preview(subject) + "'");
}

}  // namespace

Command add_reference_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "reference",
      "Print the reference of the commands, the config, the errors, the exit codes or the "
      "architectures");
  const auto subject = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  app->add_option("subject", *subject, std::string("What to print: ") + kSubjects)
      ->required()
      ->type_name("commands|config|errors|exit-codes|architectures");
  app->add_flag("--json", *json, std::string("Print JSON instead of Markdown"));
  app->footer(
      "The pages docs/reference/commands.md, docs/config.md and docs/errors.md have these texts.");
  return {app, [&main, subject, json] {
            std::fputs(reference(command_tree(main), *subject, *json).c_str(), stdout);
            flush_standard_output();
            return 0;
          }};
}

}  // namespace encode
