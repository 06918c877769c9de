#include <algorithm>
#include <cstdio>

#include "command.h"
#include "model_dir/architectures.h"

namespace encode {
namespace {

// A column as wide as its longest entry.
template <typename Field>
int width_of(const Field& field, size_t header) {
  size_t width = header;
  for (const Architecture& entry : architectures()) width = std::max(width, field(entry).size());
  return static_cast<int>(width);
}

int list_models() {
  const int type = width_of([](const Architecture& a) { return a.model_type; }, 10);
  const int block = width_of([](const Architecture& a) { return a.block; }, 6);
  const int source = width_of([](const Architecture& a) { return a.source; }, 5);
  const auto line = [&](const Architecture& a) {
    std::printf("%-*.*s  %-*.*s  %-*.*s  %.*s\n", type, static_cast<int>(a.model_type.size()),
                a.model_type.data(), block, static_cast<int>(a.block.size()), a.block.data(),
                source, static_cast<int>(a.source.size()), a.source.data(),
                static_cast<int>(a.examples.size()), a.examples.data());
  };
  line({.model_type = "model_type",
        .positions = Positions::kUnbounded,
        .block = "layers",
        .source = "paper",
        .examples = "examples"});
  for (const Architecture& entry : architectures()) line(entry);
  return 0;
}

}  // namespace

Command add_models_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "models", "List the architectures that can be loaded, by model_type of config.json");
  return {app, [] { return list_models(); }};
}

}  // namespace encode
