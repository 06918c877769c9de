#include <cstdio>
#include <memory>
#include <string>

#include "command.h"

namespace encode {
namespace {

std::string config_text(const LoadedConfig& config, bool all) {
  if (all) return print_config(config, PrintedKeys::kAll);
  return print_config(config, PrintedKeys::kGiven) +
         "\n# All other settings have their defaults; --all shows them.\n";
}

}  // namespace

Command add_config_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "config", "Print the settings of a run with their origins, or the schema of config files");
  const ConfigFlags flags(*app, {"--json"});
  const auto schema = std::make_shared<bool>(false);
  const auto all = std::make_shared<bool>(false);
  app->add_flag("--all", *all,
                "Print also the settings that have their defaults. Without it the output, which is "
                "a config file, has only the settings that a config or a flag gives");
  app->add_flag("--print", *all, "The same as --all");
  app->add_flag("--schema", *schema, "Print the JSON Schema of a config file, for editors")
      ->excludes(app->get_option("--all"))
      ->excludes(app->get_option("--print"));
  return {app, [flags, schema, all] {
            const std::string text =
                *schema ? config_json_schema() : config_text(flags.load_or_example(), *all);
            std::fputs(text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace encode
