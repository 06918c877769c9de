// The commands and flags of the program as plain data. The completions of shells and the manual
// page are made from this tree, so they know every flag that --help shows.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace encode {

enum class ValueKind { kNone, kText, kWords, kFile, kDirectory };

// A flag, or a value without a flag ("positional").
struct FlagEntry {
  std::vector<std::string> names;  // {"--config", "-c"}; for a positional {"files"}
  std::string placeholder;         // what --help shows for the value: "DIR"; "" for kNone
  std::string help;
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> words;  // valid values to offer, for kWords
  bool positional = false;
  bool required = false;
  bool repeats = false;    // a positional that takes any number of values
  std::string group;       // the heading above the flag in --help
  bool of_config() const;  // whether it is one of the flags that set keys of the config
};

struct CommandEntry {
  std::vector<std::string> path;     // {"cache", "stats"}; empty for the program itself
  std::vector<std::string> aliases;  // other names of the last word of the path
  std::string help;
  std::string footer;
  std::vector<FlagEntry> flags;
  std::vector<FlagEntry> positionals;
  std::vector<CommandEntry> commands;
  bool more_flags =
      false;  // true: it also takes the config flags of `encode run` that `flags` lacks

  std::vector<std::string> names() const;  // the last word of the path, and its aliases
};

// The group of flags that a command accepts but does not show in its help.
inline constexpr const char* kHiddenGroup = "";

// Returns true if the option sets a key that has no effect any more.
bool is_retired(const CLI::Option& option);

// The command that runs if the arguments begin with a flag instead of a command.
inline constexpr const char* kImpliedCommand = "run";

// The placeholder of an option says what kind of value it has: "FILE" is kFile, "DIR" is
// kDirectory, and a placeholder with "|" lists words ("auto|cpu|cuda"); a word of capitals in such
// a list stands for other values and is not offered. Flags of kHiddenGroup are left out. Throws
// nothing. `path` has the words that name the command, as in CommandEntry.
CommandEntry command_tree(const CLI::App& app, const std::vector<std::string>& path = {});

}  // namespace encode
