// bash: one function that finds the command among the words, and then offers what may follow.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <utility>

#include "shell/shell_texts.h"

namespace encode {
namespace {

// Returns what bash does to complete a value: the code of a branch of the case statement.
std::string action_for(const FlagEntry& flag) {
  switch (flag.kind) {
    case ValueKind::kWords:
      return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\")",
                         fmt::join(flag.words, " "));
    case ValueKind::kDirectory:
      return "compopt +o default -o dirnames";
    case ValueKind::kFile:
      return ":";  // bash offers files if COMPREPLY is empty
    default:
      return "compopt +o default";
  }
}

std::string key_of(const CommandEntry& command) {
  return fmt::format("{}", fmt::join(command.path, " "));
}

void for_each_command(const CommandEntry& command, const auto& visit) {
  visit(command);
  for (const CommandEntry& sub : command.commands) for_each_command(sub, visit);
}

// Returns the branches that turn a word into the path of its command.
std::string bash_path_branches(const CommandEntry& root) {
  std::string text;
  for_each_command(root, [&](const CommandEntry& command) {
    for (const CommandEntry& sub : command.commands) {
      for (const std::string& name : sub.names())
        text += fmt::format("      '{}:{}') path='{}' ;;\n", key_of(command), name, key_of(sub));
    }
  });
  return text;
}

// Returns the branches that complete the value of a flag. Commands that share a flag share a
// branch.
std::string value_branches(const CommandEntry& root) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> paths;  // name, action
  for_each_command(root, [&](const CommandEntry& command) {
    for (const FlagEntry& flag : command.flags) {
      if (flag.kind == ValueKind::kNone) continue;
      for (const std::string& name : flag.names)
        paths[{name, action_for(flag)}].push_back(fmt::format("'{}:{}'", key_of(command), name));
    }
  });
  std::string text;
  for (const auto& [flag, patterns] : paths)
    text += fmt::format("    {})\n      {}\n      return\n      ;;\n", fmt::join(patterns, " | "),
                        flag.second);
  return text;
}

// Returns the branches that offer the flags of a command, its subcommands or its positional values.
std::string word_branches(const CommandEntry& root) {
  std::string text;
  for_each_command(root, [&](const CommandEntry& command) {
    std::vector<std::string> flags;
    for (const FlagEntry& flag : command.flags)
      flags.insert(flags.end(), flag.names.begin(), flag.names.end());
    std::vector<std::string> words;
    for (const CommandEntry& sub : command.commands) {
      const std::vector<std::string> names = sub.names();
      words.insert(words.end(), names.begin(), names.end());
    }
    std::string action = "compopt +o default";
    if (!words.empty())
      action = action_for({.names = {},
                           .placeholder = {},
                           .help = {},
                           .kind = ValueKind::kWords,
                           .words = words,
                           .group = {}});
    if (!command.positionals.empty()) action = action_for(command.positionals.front());
    text += fmt::format("    '{}')\n      flags='{}'\n      [[ $current == -* ]] || {}\n      ;;\n",
                        key_of(command), fmt::join(flags, " "), action);
  });
  return text;
}

}  // namespace

std::string bash_completions(const CommandEntry& root) {
  return fmt::format(
      R"(# bash completions for encode, made by `encode completions bash`
_encode() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} path='' flags='' word
  COMPREPLY=()
  # bash makes a word of its own of the "=" in "--flag=value".
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path:$word" in
{paths}      ':-h' | ':--help' | ':--version') return ;;
      ':-'*) path='{implied}' ;;
    esac
  done
  case "$path:$previous" in
{values}  esac
  case "$path" in
{words}  esac
  # A flag without a command belongs to the command {implied}.
  if [[ -z $path && $current == -* ]]; then
    flags="$flags {implied_flags}"
  fi
  if [[ $current == -* ]]; then
    compopt +o default
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  fi
}}
complete -o bashdefault -o default -F _encode encode
)",
      fmt::arg("paths", bash_path_branches(root)), fmt::arg("values", value_branches(root)),
      fmt::arg("words", word_branches(root)), fmt::arg("implied", kImpliedCommand),
      fmt::arg("implied_flags", [&] {
        std::vector<std::string> names;
        for (const CommandEntry& command : root.commands) {
          if (command.path.back() != kImpliedCommand) continue;
          for (const FlagEntry& flag : command.flags) {
            const bool help = flag.names.front() == "--help";
            if (!help) names.insert(names.end(), flag.names.begin(), flag.names.end());
          }
        }
        return fmt::format("{}", fmt::join(names, " "));
      }()));
}

}  // namespace encode
