#include <cstdio>
#include <memory>

#include "command.h"

namespace encode {

Command add_config_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("config", "Print the config that is in force, or its JSON Schema");
  const ConfigFlags flags(*app, {"--json"});
  const auto schema = std::make_shared<bool>(false);
  const auto print = std::make_shared<bool>(false);
  app->add_flag("--print", *print, "Print every value with its origin (the default)");
  app->add_flag("--schema", *schema, "Print the JSON Schema of a config file, for editors")
      ->excludes(app->get_option("--print"));
  return {app, [flags, schema, print] {
            const std::string text = *schema ? config_json_schema() : print_config(flags.load());
            std::fputs(text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace encode
