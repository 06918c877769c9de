#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/wrap_text.h"
#include "command.h"
#include "model_dir/architecture_table.h"
#include "run_record/terminal.h"

namespace encode {
namespace {

// Lists the architectures with the examples on lines of their own, for a terminal of this width.
std::string models_text(size_t columns) {
  constexpr std::string_view kHeader = "model_type";
  size_t type = kHeader.size();
  for (const ArchitectureEntry& a : kArchitectures) type = std::max(type, a.model_type.size());
  type += 2;  // a space between the columns
  std::string text = fmt::format("{:<{}}layers (paper), and examples\n", kHeader, type);
  for (const ArchitectureEntry& a : kArchitectures) {
    text += wrap_text(fmt::format("{:<{}}{} ({})\n{:{}}{}\n", a.model_type, type, a.notes.block,
                                  a.notes.source, "", type, a.notes.examples),
                      columns, type);
  }
  return text;
}

// Returns the names in ArchitectureNotes::examples. "models on NAME" says that models are trained
// from NAME, which is not an embedding model itself.
std::vector<std::string> examples(const ArchitectureEntry& entry) {
  std::vector<std::string> names;
  for (std::string_view rest = entry.notes.examples; !rest.empty();) {
    const size_t comma = rest.find(", ");
    names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  }
  return names;
}

}  // namespace

Json architectures_json() {
  static constexpr std::string_view kOn = "models on ";
  Json list = Json::array();
  for (const ArchitectureEntry& entry : kArchitectures) {
    Json json = {{"model_type", entry.model_type},
                 {"layers", entry.notes.block},
                 {"paper", entry.notes.source},
                 {"examples", Json::array()},
                 {"bases", Json::array()}};
    for (const std::string& name : examples(entry)) {
      if (name.starts_with(kOn)) {
        json["bases"].push_back(name.substr(kOn.size()));
      } else {
        json["examples"].push_back(name);
      }
    }
    list.push_back(std::move(json));
  }
  return list;
}

Command add_models_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "models", "List the supported architectures by the model_type of config.json");
  const auto json = std::make_shared<bool>(false);
  app->add_flag(
      "--json", *json,
      "Print a JSON list: model_type, layers, paper, examples and bases of each. Models are "
      "trained from a base, which is no embedding model itself");
  return {app, [json] {
            // A pipe gets the same lines: it often leads to `less` or `head`, and programs read
            // the JSON list.
            const size_t columns = Terminal(STDOUT_FILENO).columns() - 1;
            const std::string text =
                *json ? architectures_json().dump() + "\n" : models_text(columns);
            std::fputs(text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace encode
