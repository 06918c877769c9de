// The commands of the program. Each of them has its own file and only turns flags into calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "config/load.h"

namespace encode {

struct Command {
  CLI::App* app = nullptr;   // the main CLI::App owns it
  std::function<int()> run;  // is called after parsing; returns the exit code, or throws Error
};

Command add_run_command(CLI::App& main);
Command add_verify_command(CLI::App& main);
Command add_compare_command(CLI::App& main);
Command add_config_command(CLI::App& main);
Command add_tokenize_command(CLI::App& main);
Command add_models_command(CLI::App& main);
Command add_bench_command(CLI::App& main);

// The flags that set keys of the config. All commands that read a config share them. `app` must
// outlive this object and its copies.
class ConfigFlags {
 public:
  explicit ConfigFlags(CLI::App& app);  // adds --config, --model, --input, ...
  LoadedConfig load() const;            // call it after parsing; throws what load_config() throws
  // Loads one config for each combination of the values that --dtype and --batch-tokens list with
  // commas: "--dtype float32,bfloat16 --batch-tokens 1024,4096" gives four.
  std::vector<LoadedConfig> load_each() const;

 private:
  struct Given;
  // `instead` has the values of flags that replace the given ones, by the name of the flag.
  LoadedConfig load(const std::map<std::string, std::string>& instead) const;

  CLI::App* app_;
  std::shared_ptr<Given> given_;
};

}  // namespace encode
