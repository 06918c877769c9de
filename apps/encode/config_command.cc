#include <cstdio>
#include <memory>

#include "command.h"

namespace encode {

Command add_config_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "config", "Print every setting with its value and its origin, or the schema of config files");
  const ConfigFlags flags(*app, {"--json"});
  const auto schema = std::make_shared<bool>(false);
  const auto print = std::make_shared<bool>(false);
  app->add_flag("--print", *print,
                "Print the settings as a config file, each with its origin (this is the default); "
                "without a config, the defaults of all settings");
  app->add_flag("--schema", *schema, "Print the JSON Schema of a config file, for editors")
      ->excludes(app->get_option("--print"));
  return {app, [flags, schema, print] {
            const std::string text =
                *schema ? config_json_schema() : print_config(flags.load_or_example());
            std::fputs(text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace encode
