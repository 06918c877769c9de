#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>

#include "architecture_list.h"
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

}  // namespace

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
