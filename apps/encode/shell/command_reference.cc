// The reference of all commands. The flags that set keys of the config are printed once.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

#include "base/json_values.h"
#include "config/schema.h"
#include "shell/shell_texts.h"

namespace encode {
namespace {

// Returns the text of a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*') out += '\\';
    out += c;
  }
  return out;
}

bool is_help(const FlagEntry& flag) { return flag.names.front() == "--help"; }

std::string meaning(const FlagEntry& entry) {
  return entry.help + (!entry.positional && entry.required ? " (required)" : "");
}

std::string table(const std::string& kind, const std::vector<FlagEntry>& entries) {
  if (entries.empty()) return "";
  std::string text = fmt::format("\n| {} | value | meaning |\n|---|---|---|\n", kind);
  for (const FlagEntry& entry : entries) {
    const bool any_text = entry.positional && entry.kind == ValueKind::kText;
    text += fmt::format("| `{}` | {} | {} |\n", fmt::join(shown_names(entry), "`, `"),
                        any_text ? "" : cell(entry.placeholder), cell(meaning(entry)));
  }
  return text;
}

struct Flags {
  std::vector<FlagEntry> own;
  std::vector<FlagEntry> of_config;
};

Flags flags_of(const CommandEntry& command) {
  Flags flags;
  for (const FlagEntry& flag : command.flags) {
    if (!is_help(flag)) (flag.of_config() ? flags.of_config : flags.own).push_back(flag);
  }
  return flags;
}

// Returns the flags that set keys of the config. The help of the implied command shows all of them.
std::vector<FlagEntry> shared_flags(const CommandEntry& root) {
  for (const CommandEntry& command : root.commands) {
    if (command.path.back() == kImpliedCommand) return flags_of(command).of_config;
  }
  return {};
}

std::string chapter(const CommandEntry& command) {
  const Flags flags = flags_of(command);
  std::string text =
      fmt::format("\n{} encode {}\n\n{}.\n\n`{}`\n", std::string(command.path.size() + 1, '#'),
                  fmt::join(command.path, " "), command.help, usage_text(command));
  for (const std::string& alias : command.aliases)
    text += fmt::format("\n`encode {}` is another name of the command.\n", alias);
  text += table("argument", command.positionals) + table("option", flags.own);
  if (!flags.of_config.empty() || command.more_flags)
    text += "\nThe [options that set keys of the config](#options-of-the-config) apply, too.\n";
  if (!command.footer.empty()) text += fmt::format("\n```console\n{}```\n", footer_text(command));
  for (const CommandEntry& sub : command.commands) text += chapter(sub);
  return text;
}

Json flag_json(const FlagEntry& flag) {
  return {{"names", shown_names(flag)},
          {"value", flag.placeholder},
          {"words", flag.words},
          {"required", flag.required},
          {"help", flag.help}};
}

Json list_of(const std::vector<FlagEntry>& entries) { return array_of(entries, flag_json); }

void add_commands(const CommandEntry& command, Json& list) {
  const Flags flags = flags_of(command);
  Json shown = Json::array();
  for (const FlagEntry& flag : flags.of_config) shown.push_back(flag.names.front());
  list.push_back({{"path", command.path},
                  {"aliases", command.aliases},
                  {"help", command.help},
                  {"usage", usage_text(command)},
                  {"arguments", list_of(command.positionals)},
                  {"flags", list_of(flags.own)},
                  {"takes_config_flags", !flags.of_config.empty() || command.more_flags},
                  {"shown_config_flags", shown},
                  {"footer", command.footer}});
  for (const CommandEntry& sub : command.commands) add_commands(sub, list);
}

}  // namespace

std::string command_reference(const CommandEntry& root) {
  std::string text =
      "## Options of the config\n\n"
      "These options belong to every command that reads a config. Each sets a key of the config, "
      "for all streams;\n[config.md](../config.md) has the keys.\n" +
      table("option", shared_flags(root));
  for (const CommandEntry& command : root.commands) text += chapter(command);
  return text;
}

Json command_reference_json(const CommandEntry& root) {
  Json flags = Json::array();
  for (const FlagEntry& flag : shared_flags(root)) {
    Json json = flag_json(flag);
    json["group"] = flag.group;
    for (const KeyedFlag& keyed : config_flags()) {
      if (keyed.flag->name == flag.names.front()) json["key"] = keyed.key->flag_path();
    }
    flags.push_back(std::move(json));
  }
  Json commands = Json::array();
  for (const CommandEntry& command : root.commands) add_commands(command, commands);
  return {{"config_flags", flags}, {"commands", commands}};
}

}  // namespace encode
