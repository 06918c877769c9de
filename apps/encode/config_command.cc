#include <cstdio>
#include <memory>

#include "command.h"

namespace encode {

Command add_config_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("config", "Show the config that is in force, or describe it for editors");
  const ConfigFlags flags(*app);
  const auto schema = std::make_shared<bool>(false);
  const auto print = std::make_shared<bool>(false);
  app->add_flag("--print", *print, "Every value with its origin (the default)");
  app->add_flag("--schema", *schema, "JSON Schema of the config file")
      ->excludes(app->get_option("--print"));
  return {app, [flags, schema, print] {
            const std::string text = *schema ? config_json_schema() : print_config(flags.load());
            std::fputs(text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace encode
