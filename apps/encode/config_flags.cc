#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "base/units.h"
#include "command.h"
#include "config/schema.h"
#include "shell/command_tree.h"

namespace encode {
namespace {

// Returns what --help and the completions show for the value of a flag: its valid words, or "N".
std::string placeholder(const KeyedFlag& keyed) {
  if (!keyed.flag->placeholder.empty()) return keyed.flag->placeholder;
  const ValueSpec& spec = keyed.key->value;
  const bool number = spec.type == ValueType::kInteger;
  if (spec.choices.empty()) return number ? "N" : "TEXT";
  return fmt::format("{}{}", number ? "N|" : "", fmt::join(spec.choices, "|"));
}

// Returns the help of a flag, with the default of its key. A default that depends on other things,
// such as the model, is a part of KeyFlag::help.
std::string help_of(const KeyedFlag& keyed) {
  const std::string value = keyed.key->default_text.value_or("");
  const bool states_one = !keyed.flag->fixed && !value.empty() && value != "null" && value != "[]";
  return keyed.flag->help + (states_one ? fmt::format(" (default: {})", value) : "");
}

// Returns what --set KEY=VALUE sets.
Override parse_setting(const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Error({.code = "usage",
                 .what = "--set needs a key and a value",
                 .where = "--set",
                 .expected = "KEY=VALUE, as in semantic.causal=true",
                 .found = fmt::format("'{}'", preview(setting)),
                 .hint = "docs/config.md lists the keys"});
  }
  return {.key = setting.substr(0, equals), .value = setting.substr(equals + 1), .flag = "--set"};
}

}  // namespace

struct ConfigFlags::Given {
  std::string config;
  std::vector<std::string> values = std::vector<std::string>(config_flags().size());
  std::vector<std::string> more;  // the values of --set
};

ConfigFlags::ConfigFlags(CLI::App& app, const std::vector<std::string>& shown)
    : app_(&app), given_(std::make_shared<Given>()) {
  app.add_option("--config,-c", given_->config, "Config file (YAML); other flags override it")
      ->type_name("FILE")
      ->group(flag_heading(FlagGroup::kMain));
  const std::vector<KeyedFlag>& flags = config_flags();
  for (size_t i = 0; i < flags.size(); ++i) {
    const KeyFlag& flag = *flags[i].flag;
    const std::string help = help_of(flags[i]);
    CLI::Option* option =
        flag.fixed
            ? app.add_flag(flag.name, help)
            : app.add_option(flag.name, given_->values[i], help)->type_name(placeholder(flags[i]));
    const bool show =
        shown.empty() || std::find(shown.begin(), shown.end(), flag.name) != shown.end();
    option->group(show ? flag_heading(flag.group) : kHiddenGroup);
    for (const KeyFlag& other : flags[i].key->flags) {
      CLI::Option* added = app.get_option_no_throw(other.name);
      if (added != nullptr && added != option) option->excludes(added);
    }
  }
  const std::string no_effect = "Has no effect any more";
  for (const RetiredKey& key : retired_keys())
    app.add_flag(key.flag, no_effect)->group(kHiddenGroup);
  app.add_option("--set", given_->more,
                 "Set a key of docs/config.md that has no flag, as in --set semantic.causal=true; "
                 "may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(shown.empty() ? flag_heading(FlagGroup::kMessages) : kHiddenGroup);
  for (const std::string& name : shown)
    static_cast<void>(app.get_option(name));  // throws if there is no such flag
}

LoadedConfig ConfigFlags::load() const {
  return load_config(given_->config, overrides({}), list_fields);
}

LoadedConfig ConfigFlags::load_without_texts() const {
  std::vector<Override> given = overrides({});
  // A config must have an input. The command never opens this one.
  given.push_back({.key = "input.file", .value = "none.txt", .flag = "--model"});
  LoadedConfig config = load_config(given_->config, given);
  config.run.streams.front().input = {};
  config.run.streams.front().stream = "full-length-rows";
  return config;
}

LoadedConfig ConfigFlags::load_or_example() const {
  if (given()) return load();
  static constexpr const char* kOrigin = "an example";
  std::vector<Override> settings = {{"semantic.model", "path/to/model", kOrigin},
                                    {"input.file", "texts.jsonl", kOrigin}};
  const bool lines =
      app_->count("--format") > 0 && app_->get_option("--format")->as<std::string>() == "lines";
  if (!lines && app_->count("--text") == 0) settings.push_back({"input.field", "text", kOrigin});
  const std::vector<Override> given_settings = overrides({});
  settings.insert(settings.end(), given_settings.begin(), given_settings.end());
  return load_config("", settings);
}

bool ConfigFlags::given() const { return app_->count("--config") + app_->count("--input") > 0; }

std::string ConfigFlags::describing() const {
  std::vector<std::string> names;
  const auto add_if_given = [&](const std::string& name) {
    if (app_->count(name) > 0) names.push_back(name);
  };
  add_if_given("--config");
  for (const KeyedFlag& keyed : config_flags()) {
    if (keyed.flag->group != FlagGroup::kMessages) add_if_given(keyed.flag->name);
  }
  add_if_given("--set");
  return fmt::format("{}", fmt::join(names, " "));
}

std::string ConfigFlags::value_of(const std::string& flag) const {
  return app_->count(flag) > 0 ? app_->get_option(flag)->as<std::string>() : "";
}

std::vector<std::string> ConfigFlags::words() const {
  std::vector<std::string> found;
  if (!given_->config.empty()) found.push_back("--config=" + given_->config);
  const std::vector<KeyedFlag>& flags = config_flags();
  for (size_t i = 0; i < flags.size(); ++i) {
    const KeyFlag& flag = *flags[i].flag;
    if (app_->count(flag.name) == 0 || flag.name == "--json") continue;
    found.push_back(flag.fixed ? flag.name : flag.name + "=" + given_->values[i]);
  }
  for (const std::string& setting : given_->more) found.push_back("--set=" + setting);
  return found;
}

const std::string& ConfigFlags::config_path() const { return given_->config; }

std::vector<LoadedConfig> ConfigFlags::load_each() const {
  std::vector<std::map<std::string, std::string>> combinations = {{}};
  for (const char* name : {"--dtype", "--batch-tokens"}) {
    if (app_->count(name) == 0) continue;
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& chosen : combinations) {
      std::istringstream values(app_->get_option(name)->as<std::string>());
      for (std::string value; std::getline(values, value, ',');) {
        longer.push_back(chosen);
        longer.back()[name] = value;
      }
    }
    combinations = std::move(longer);
  }
  std::vector<LoadedConfig> configs;
  for (const auto& chosen : combinations)
    configs.push_back(load_config(given_->config, overrides(chosen), list_fields));
  return configs;
}

std::vector<Override> ConfigFlags::overrides(
    const std::map<std::string, std::string>& instead) const {
  std::vector<Override> given;
  const std::vector<KeyedFlag>& flags = config_flags();
  for (size_t i = 0; i < flags.size(); ++i) {
    const KeyFlag& flag = *flags[i].flag;
    if (app_->count(flag.name) == 0) continue;
    const auto other = instead.find(flag.name);
    const std::string& value = other != instead.end() ? other->second : given_->values[i];
    given.push_back({flags[i].key->flag_path(), flag.fixed.value_or(value), flag.name});
  }
  for (const RetiredKey& key : retired_keys()) {
    if (app_->count(key.flag) > 0)
      given.push_back({.key = std::string(key.path), .value = "true", .flag = key.flag});
  }
  for (const std::string& setting : given_->more) given.push_back(parse_setting(setting));
  return given;
}

}  // namespace encode
