#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.h"
#include "model_dir/architecture_table.h"

namespace encode {
namespace {

// Returns the width of a column: the size of its longest text, or of its header if that is longer.
template <typename Field>
size_t width_of(const Field& field, size_t header) {
  size_t width = header;
  for (const ArchitectureEntry& entry : kArchitectures)
    width = std::max(width, field(entry).size());
  return width;
}

std::string models_text() {
  const size_t type = width_of([](const ArchitectureEntry& a) { return a.model_type; }, 10);
  const size_t block = width_of([](const ArchitectureEntry& a) { return a.notes.block; }, 6);
  const size_t source = width_of([](const ArchitectureEntry& a) { return a.notes.source; }, 5);
  std::string text;
  const auto line = [&](const ArchitectureEntry& a) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", a.model_type, type, a.notes.block, block,
                        a.notes.source, source, a.notes.examples);
  };
  line({{{}, "model_type", ""}, {"layers", "paper", "examples"}, {}});
  for (const ArchitectureEntry& entry : kArchitectures) line(entry);
  return text;
}

// Returns the names in ArchitectureNotes::examples. "models on NAME" says that models are trained
// from NAME, which is no embedding model itself.
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
            std::fputs((*json ? architectures_json().dump() + "\n" : models_text()).c_str(),
                       stdout);
            return 0;
          }};
}

}  // namespace encode
