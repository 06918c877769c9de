// The verbs of the program. Each lives in a file of its own and does nothing but turn flags into
// calls.
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
  CLI::App* app = nullptr;   // owned by the main CLI::App
  std::function<int()> run;  // after parsing; returns the exit code, or throws Error
};

Command add_run_command(CLI::App& main);
Command add_verify_command(CLI::App& main);
Command add_compare_command(CLI::App& main);
Command add_config_command(CLI::App& main);
Command add_tokenize_command(CLI::App& main);
Command add_models_command(CLI::App& main);
Command add_bench_command(CLI::App& main);

// Flags that set a key of the config, shared by the verbs that read one.
class ConfigFlags {
 public:
  explicit ConfigFlags(CLI::App& app);  // adds --config, --model, --input, ...
  LoadedConfig load() const;            // with what was given
  // The same once for every combination of the values that two flags list with commas: --dtype
  // float32,bfloat16 and --batch-tokens 1024,4096.
  std::vector<LoadedConfig> load_each() const;

 private:
  struct Given;
  LoadedConfig load(const std::map<std::string, std::string>& instead) const;

  CLI::App* app_;
  std::shared_ptr<Given> given_;
};

}  // namespace encode
