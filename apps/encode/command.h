// The commands of the program, and what they share. Each command has its own file, which only turns
// flags into calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/json.h"
#include "config/load.h"
#include "supervisor/run.h"

namespace encode {

// Parses the command line and runs a command. Returns the exit code. `arguments` does not contain
// the name of the program. Throws Error kUsage for an invalid command line, and what the command
// throws.
int run_command_line(std::vector<std::string> arguments);

struct Command {
  CLI::App* app = nullptr;   // the subcommand; the main CLI::App owns it
  std::function<int()> run;  // called after parsing; returns the exit code, or throws Error
};

// Throws Error kUsage "usage". `command` is the command whose --help explains the flags: "encode
// plan".
[[noreturn]] void refuse_usage(const std::string& command, std::string what, std::string expected,
                               std::string found);

Command add_run_command(CLI::App& main);
Command add_retry_failed_command(CLI::App& main);
Command add_shards_command(CLI::App& main);
Command add_merge_command(CLI::App& main);
Command add_slurm_command(CLI::App& main);
Command add_status_command(CLI::App& main);
Command add_verify_command(CLI::App& main);
Command add_cache_command(CLI::App& main);
Command add_compare_command(CLI::App& main);
Command add_config_command(CLI::App& main);
Command add_tokenize_command(CLI::App& main);
Command add_models_command(CLI::App& main);
Command add_bench_command(CLI::App& main);
Command add_preflight_command(CLI::App& main);
Command add_plan_command(CLI::App& main);
Command add_pull_command(CLI::App& main);
Command add_search_command(CLI::App& main);
Command add_completions_command(CLI::App& main);
Command add_man_command(CLI::App& main);
Command add_reference_command(CLI::App& main);
inline constexpr const char* kVersionHelp = "Print the version, and how it was built";
Command add_version_command(CLI::App& main);
Command add_report_command(CLI::App& main);

// Returns what a run needs to start a worker. The worker program is the file that ENCODE_WORKER
// names, or else encode-worker beside this program. Also sets environment variables of this
// process, which the worker inherits. Throws Error if the path of this program cannot be read.
RunEnvironment run_environment();

// Ends this process with the signal `number`, so that shells and schedulers see this signal (as the
// exit code 130 or 143). If asks_for_restart(), it returns the exit code 75 instead. A scheduler
// sends SIGUSR1 before it preempts a job, and 75 tells the scheduler to start the job again.
int end_by_signal(int number);

// Opens /dev/null for each of the standard input, output and error that is closed. Otherwise the
// next file that is opened would get its number, and a message would be written into that file.
// Writing to a descriptor that was closed still fails.
void fill_standard_descriptors();

// Flushes the standard output. Throws Error kIoError "io.stdout" if a part of the output could not
// be written, because the disk is full or the reader is gone.
void flush_standard_output();

// Returns the supported architectures as JSON, for `encode models` and `encode reference`: a list
// with an object for each, with model_type, layers, paper, examples (embedding models) and bases
// (models from which other models are trained).
Json architectures_json();

// The flags that set keys of the config. All commands that read a config have these flags. `app`
// must outlive this object and its copies.
class ConfigFlags {
 public:
  // Adds --config, --model, --input, ... The help of the command shows --config and the flags in
  // `shown`, or all of them if `shown` is empty; the command accepts the others as well.
  explicit ConfigFlags(CLI::App& app, const std::vector<std::string>& shown = {});
  // Returns true if the command line says what to run: a config or an input.
  bool given() const;
  // Returns the flags of the command line that describe a run, with spaces between them:
  // "--config --pooling"; "" if there are none. The flags about messages, such as --json, do not
  // count.
  std::string describing() const;
  // Returns the value of a flag with one value, such as --output; "" if it is not given.
  std::string value_of(const std::string& flag) const;
  // May be called only after parsing. Throws what load_config() throws.
  LoadedConfig load() const;
  // Does the same as load() for a command line that names a model and no texts: the run has one
  // stream with default-constructed InputOptions.
  LoadedConfig load_without_texts() const;
  // Does the same as load(). If the command line says nothing about the run (see given()), example
  // values stand for the model, the input and the field, which a config must have.
  LoadedConfig load_or_example() const;
  // Returns the flags as words of a command line for another process, without --json.
  std::vector<std::string> words() const;
  const std::string& config_path() const;  // the value of --config, or ""
  // Loads one config for each combination of the values of --dtype and --batch-tokens, which may be
  // lists: "--dtype float32,bfloat16 --batch-tokens 1024,4096" gives four configs.
  std::vector<LoadedConfig> load_each() const;

 private:
  struct Given;
  // `instead` maps the name of a flag to a value that replaces the user's.
  std::vector<Override> overrides(const std::map<std::string, std::string>& instead) const;

  CLI::App* app_;
  std::shared_ptr<Given> given_;
};

}  // namespace encode
