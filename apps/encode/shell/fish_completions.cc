// fish: a function that says which command the line belongs to, and a line for each flag and value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shell/shell_texts.h"

namespace encode {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

constexpr const char* kDirectories = "'(__fish_complete_directories (commandline -ct))'";

// Returns the options of fish's `complete` for a value of this kind. `flag` is true for the value
// of a flag, and false for a positional value.
std::string value_of(const FlagEntry& entry, bool flag) {
  switch (entry.kind) {
    case ValueKind::kFile:
      return flag ? " -r -F" : " -F";
    case ValueKind::kDirectory:
      return fmt::format("{} -a {}", flag ? " -x" : "", kDirectories);
    case ValueKind::kWords:
      return fmt::format("{} -a '{}'", flag ? " -x" : "", fmt::join(entry.words, " "));
    case ValueKind::kText:
      return flag ? " -x" : "";
    default:
      return "";
  }
}

// Returns a line with fish's `complete` for a flag or a value that the command at `path` accepts.
std::string line(const CommandEntry& command, const std::string& rest) {
  const std::string condition = command.path.empty()
                                    ? "__encode_first"
                                    : fmt::format("__encode_at {}", fmt::join(command.path, " "));
  return fmt::format("complete -c encode -n '{}'{}\n", condition, rest);
}

std::string fish_lines(const CommandEntry& command) {
  std::string text;
  for (const FlagEntry& flag : command.flags) {
    std::string names;
    for (const std::string& name : flag.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text +=
        line(command, fmt::format("{}{} -d {}", names, value_of(flag, true), quoted(flag.help)));
  }
  for (const FlagEntry& positional : command.positionals) {
    const std::string value = value_of(positional, false);
    if (!value.empty()) text += line(command, value);
  }
  for (const CommandEntry& sub : command.commands) {
    for (const std::string& name : sub.names())
      text += line(command, fmt::format(" -a {} -d {}", name, quoted(sub.help)));
  }
  for (const CommandEntry& sub : command.commands) text += fish_lines(sub);
  return text;
}

// Returns the branches that find the command in a command line and print its path.
std::string fish_path_branches(const CommandEntry& root) {
  std::string text;
  for (const CommandEntry& command : root.commands) {
    const std::string names = fmt::format("{}", fmt::join(command.names(), " "));
    if (command.commands.empty()) {
      text += fmt::format("        case {}\n            echo {}\n", names, command.path.back());
      continue;
    }
    text += fmt::format("        case {}\n            switch \"$words[3]\"\n", names);
    for (const CommandEntry& sub : command.commands)
      text += fmt::format("                case {}\n                    echo {}\n",
                          fmt::join(sub.names(), " "), fmt::join(sub.path, " "));
    text += fmt::format("                case '*'\n                    echo {}\n            end\n",
                        command.path.back());
  }
  return text;
}

}  // namespace

std::string fish_completions(const CommandEntry& root) {
  return fmt::format(
             R"(# fish completions for encode, made by `encode completions fish`

# Prints the command that the line belongs to, or nothing if the line names none yet.
function __encode_command
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if string match -q -- '-*' "$current"
        set -a words $current
    end
    switch "$words[2]"
        case -h --help --version
        case '-*'
            echo {implied}
{branches}    end
end

# Succeeds if the line belongs to this command.
function __encode_at
    set -l command (__encode_command)
    test "$command" = "$argv"
end

# Succeeds if the cursor is at the first word after the name of the program.
function __encode_first
    test (count (commandline -opc)) -eq 1
end

complete -c encode -f
)",
             fmt::arg("implied", kImpliedCommand), fmt::arg("branches", fish_path_branches(root))) +
         fish_lines(root);
}

}  // namespace encode
