// What --help prints. Every line has at most 80 columns.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <string>
#include <vector>

#include "config/schema.h"
#include "shell/shell_texts.h"

namespace encode {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kHelpColumn = 26;
constexpr const char* kOwnGroup = "Options";  // CLI11's group of a flag without another one
constexpr size_t kValueColumn = 10;           // where a list of values goes on in the next line

// Returns `line` + `text`, broken at spaces. The second line and those after it begin with `indent`
// spaces.
std::string broken(std::string line, const std::string& text, size_t indent) {
  std::string done;
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && line.size() + 1 + word.size() > kWidth) {
      done += line + "\n";
      line.assign(indent, ' ');
      first = true;
    }
    if (!first) line += ' ';
    line += word;
  }
  return done + line + "\n";
}

// Breaks each line of a text. A line that begins with a space is an example and stays as it is.
std::string wrapped_lines(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    out += line.starts_with(' ') ? line + "\n" : broken("", line, 0);
  return out;
}

// Returns the lines of "<head>  <help>".
std::string entry(const std::string& head, const std::string& help) {
  std::string line = "  " + head;
  std::string done;
  while (line.size() > kWidth) {
    const size_t bar = line.rfind('|', kWidth - 1);
    if (bar == std::string::npos) break;
    done += line.substr(0, bar + 1) + "\n";
    line = std::string(kValueColumn, ' ') + line.substr(bar + 1);
  }
  if (!done.empty() || line.size() + 2 > kHelpColumn) {
    done += line + "\n";
    line.clear();
  }
  line.resize(kHelpColumn, ' ');
  return done + (help.empty() ? "" : broken(std::move(line), help, kHelpColumn));
}

std::string flag_head(const FlagEntry& flag) {
  std::string head = fmt::format("{}", fmt::join(shown_names(flag), ", "));
  if (flag.kind != ValueKind::kNone) head += " " + flag.placeholder;
  return head;
}

std::string flag_lines(const FlagEntry& flag) {
  return entry(flag_head(flag), flag.help + (flag.required ? " (required)" : ""));
}

// The groups are in the order of their first flag. First come the flags that nearly every command
// line needs, then those that only this command has.
std::string flag_groups(const CommandEntry& command) {
  std::vector<std::string> groups;
  const std::string main = flag_heading(FlagGroup::kMain);
  if (std::any_of(command.flags.begin(), command.flags.end(),
                  [&](const FlagEntry& flag) { return flag.group == main; }))
    groups.push_back(main);
  groups.emplace_back(kOwnGroup);
  for (const FlagEntry& flag : command.flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end())
      groups.push_back(flag.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const FlagEntry& flag : command.flags) {
      if (flag.group == group) text += flag_lines(flag);
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> shown_names(const FlagEntry& flag) {
  std::vector<std::string> names = flag.names;
  if (flag.positional && flag.repeats) names.front() += "...";
  // The short name comes first, as in other programs.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return !name.starts_with("--"); });
  return names;
}

std::string footer_text(const CommandEntry& command) { return wrapped_lines(command.footer); }

std::string usage_text(const CommandEntry& command) {
  std::string text = "encode";
  for (const std::string& word : command.path) text += " " + word;
  if (!command.commands.empty()) text += " COMMAND";
  text += " [OPTIONS]";
  for (const FlagEntry& value : command.positionals) {
    const std::string name = shown_names(value).front();
    text += value.required ? " " + name : fmt::format(" [{}]", name);
  }
  return text;
}

std::string help_text(const CommandEntry& command) {
  std::string text = wrapped_lines(command.help);
  text += fmt::format("\nUsage: {}\n", usage_text(command));
  if (!command.aliases.empty())
    text += fmt::format("Also known as: {}\n", fmt::join(command.aliases, ", "));
  if (!command.positionals.empty()) text += "\nArguments:\n";
  for (const FlagEntry& value : command.positionals)
    text += entry(shown_names(value).front(), value.help);
  if (!command.commands.empty()) text += "\nCommands:\n";
  for (const CommandEntry& sub : command.commands)
    text += entry(fmt::format("{}", fmt::join(sub.names(), ", ")), sub.help);
  text += flag_groups(command);
  if (command.more_flags)
    text += "\n" + wrapped_lines(
                       "The other options of `encode run` are valid here, too: see encode run "
                       "--help.");
  if (!command.footer.empty()) text += "\n" + footer_text(command);
  return text;
}

}  // namespace encode
