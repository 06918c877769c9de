#include "shell/command_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "config/schema.h"

namespace encode {
namespace {

bool stands_for_others(const std::string& word) {
  return std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isupper(c) != 0; });
}

std::vector<std::string> words_of(const std::string& placeholder) {
  std::vector<std::string> words;
  if (placeholder.find('|') == std::string::npos) return words;
  std::istringstream list(placeholder);
  for (std::string word; std::getline(list, word, '|');) {
    if (!stands_for_others(word)) words.push_back(word);
  }
  return words;
}

ValueKind kind_of(const FlagEntry& flag) {
  if (flag.placeholder == "FILE") return ValueKind::kFile;
  if (flag.placeholder == "DIR") return ValueKind::kDirectory;
  return flag.words.empty() ? ValueKind::kText : ValueKind::kWords;
}

// Returns the placeholder without the checks that CLI11 adds to it ("INT:INT in [1 - 1000]"), and a
// letter in place of the names that CLI11 has for numbers.
std::string placeholder_of(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const std::string word = name.substr(0, name.find(':'));
  if (word == "INT" || word == "UINT") return "N";
  return word == "FLOAT" ? "X" : word;
}

FlagEntry entry_of(const CLI::Option& option) {
  FlagEntry flag;
  if (option.nonpositional()) {
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  } else {
    flag.names.push_back(option.get_name(/*positional=*/true));
    flag.positional = true;
  }
  flag.help = option.get_description();
  flag.required = option.get_required();
  flag.group = option.get_group();
  flag.repeats = option.get_expected_max() > 1;
  if (option.get_items_expected_max() == 0) return flag;
  flag.placeholder = placeholder_of(option);
  flag.words = words_of(flag.placeholder);
  flag.kind = kind_of(flag);
  return flag;
}

}  // namespace

bool is_retired(const CLI::Option& option) {
  const auto keys = retired_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const RetiredKey& key) { return option.check_name(key.flag); });
}

CommandEntry command_tree(const CLI::App& app, const std::vector<std::string>& path) {
  CommandEntry command{.path = path,
                       .aliases = app.get_aliases(),
                       .help = app.get_description(),
                       .footer = app.get_footer(),
                       .flags = {},
                       .positionals = {},
                       .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == kHiddenGroup) {
      command.more_flags = command.more_flags || !is_retired(*option);
      continue;
    }
    auto& entries = option->nonpositional() ? command.flags : command.positionals;
    entries.push_back(entry_of(*option));
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::vector<std::string> sub_path = path;
    sub_path.push_back(sub->get_name());
    command.commands.push_back(command_tree(*sub, sub_path));
  }
  return command;
}

bool FlagEntry::of_config() const {
  using enum FlagGroup;
  static constexpr std::array kGroups = {kMain, kTexts, kVectors, kSpeed, kMessages};
  return std::any_of(kGroups.begin(), kGroups.end(),
                     [this](FlagGroup known) { return group == flag_heading(known); });
}

std::vector<std::string> CommandEntry::names() const {
  std::vector<std::string> all = {path.back()};
  all.insert(all.end(), aliases.begin(), aliases.end());
  return all;
}

}  // namespace encode
