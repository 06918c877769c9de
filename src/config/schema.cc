#include "config/schema.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <tuple>

#include "base/units.h"

namespace encode {
namespace {

struct SectionHelp {
  std::string_view path;
  std::string_view help;
};

constexpr const char* kStreamPassages =
    "The passages that the texts of this stream are cut into. A key that is not given here has the "
    "value of semantic.passages. A plain text is short for by: `passages: none` cuts no text.";

constexpr std::array<SectionHelp, 16> kSectionHelp = {{
    {"semantic", "The model, and how it encodes texts."},
    {"hardware", "The device that the model runs on."},
    {"semantic.passages",
     "The passages that every text is cut into. The texts are cut if max_tokens or by is given. A "
     "plain text is short for by."},
    {"data.streams.<stream>.passages", kStreamPassages},
    {"data.splits.<split>.<stream>.passages", kStreamPassages},
    {"semantic.embedding_cache", "A cache of embeddings for all runs of a machine."},
    {"hardware.allocator", "The CUDA memory allocator."},
    {"data", "The streams of an experiment. It excludes input."},
    {"data.streams", "The settings of a stream for all splits, by the name of the stream."},
    {"data.streams.<stream>", "The settings of this stream for all splits."},
    {"data.splits", "The splits by name, in the order in which they are encoded."},
    {"data.splits.<split>",
     "The streams of this split by name, in the order in which they are encoded."},
    {"data.splits.<split>.<stream>",
     "One input of this split. A plain text is short for its file."},
    {"input", "The only input of a run. It excludes data."},
    {"output", "The path of the output, and the combined matrices."},
    {"log", "The messages and the progress."},
}};

constexpr std::array<RetiredKey, 1> kRetiredKeys = {
    {{"hardware.product_search", "--product-search"}}};

std::string help_of(const std::string& path) {
  const auto* found =
      std::find_if(kSectionHelp.begin(), kSectionHelp.end(),
                   [&path](const SectionHelp& section) { return section.path == path; });
  return found == kSectionHelp.end() ? "" : std::string(found->help);
}

SchemaNode& section_at(SchemaNode& root, const std::string& path) {
  SchemaNode* node = &root;
  for (const std::string& name : split_key(path)) {
    auto child =
        std::find_if(node->children.begin(), node->children.end(),
                     [&name](const SchemaNode& candidate) { return candidate.name == name; });
    if (child == node->children.end()) {
      const std::string child_path = join_key(node->path, name);
      node->children.push_back({.name = name, .path = child_path, .help = help_of(child_path)});
      child = node->children.end() - 1;
    }
    node = &*child;
  }
  return *node;
}

// Returns the key with this name or alias in any section. If there is none and `typo` is true,
// returns the key with the most similar name. Returns nullptr if no name is similar.
const KeySpec* find_leaf(const std::string& name, bool typo) {
  const std::vector<KeySpec>& keys = config_keys();
  const auto exact = std::find_if(keys.begin(), keys.end(), [&name](const KeySpec& key) {
    return key.name == name || (!key.alias.empty() && key.alias == name);
  });
  if (exact != keys.end() || !typo) return exact == keys.end() ? nullptr : &*exact;
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const KeySpec& key : keys) names.push_back(key.name);
  const std::string best = nearest(name, names.data(), names.size());
  return best.empty() ? nullptr : find_leaf(best, false);
}

}  // namespace

bool is_name(const std::string& text) {
  const auto alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  return !text.empty() && text.size() <= 100 && alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(), [&alphanumeric](char c) {
           return alphanumeric(c) || c == '_' || c == '.' || c == '-';
         });
}

bool KeySpec::in(const std::string& section) const {
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

std::string KeySpec::in_stream() const {
  const std::string split = kSplitStreams;
  for (const std::string& section : sections) {
    if (section == split) return name;
    if (section.starts_with(split + ".")) return join_key(section.substr(split.size() + 1), name);
  }
  return "";
}

std::span<const RetiredKey> retired_keys() { return kRetiredKeys; }

const RetiredKey* retired_key(std::string_view path) {
  const auto* found = std::find_if(kRetiredKeys.begin(), kRetiredKeys.end(),
                                   [path](const RetiredKey& key) { return key.path == path; });
  return found == kRetiredKeys.end() ? nullptr : found;
}

std::string describe(const RetiredKey& key, const std::string& where) {
  return fmt::format("{}: {} has no effect any more", where, key.path);
}

Value KeySpec::default_value() const {
  if (*default_text == "null") return std::monostate();
  return parse_value(value, *default_text,
                     {.key = name, .where = "default", .exit_code = ExitCode::kInternal});
}

std::string KeySpec::flag_path() const {
  return join_key(in(kSingleInput) ? kSingleInput : sections.front(), name);
}

const char* flag_heading(FlagGroup group) {
  switch (group) {
    case FlagGroup::kMain:
      return "Main options";
    case FlagGroup::kTexts:
      return "Texts, output and chunks";
    case FlagGroup::kVectors:
      return "Vectors";
    case FlagGroup::kSpeed:
      return "Device, speed and memory";
    case FlagGroup::kMessages:
      break;
  }
  return "Messages";
}

const std::vector<KeyedFlag>& config_flags() {
  static const std::vector<KeyedFlag> flags = [] {
    std::vector<KeyedFlag> all;
    for (const KeySpec& key : config_keys()) {
      for (const KeyFlag& flag : key.flags) all.push_back({&key, &flag});
    }
    std::sort(all.begin(), all.end(), [](const KeyedFlag& a, const KeyedFlag& b) {
      return std::tie(a.flag->group, a.flag->place) < std::tie(b.flag->group, b.flag->place);
    });
    return all;
  }();
  return flags;
}

std::string spelled_setting(const std::string& path, const std::string& value,
                            bool on_command_line) {
  if (!on_command_line) return fmt::format("{}: {}", path, value);
  for (const KeyedFlag& keyed : config_flags()) {
    if (keyed.key->flag_path() != path) continue;
    if (keyed.flag->fixed == value) return keyed.flag->name;
    if (!keyed.flag->fixed) return fmt::format("{} {}", keyed.flag->name, value);
  }
  return fmt::format("--set {}={}", path, value);
}

std::string setting_name(const std::string& path, bool on_command_line) {
  if (!on_command_line) return path;
  for (const KeyedFlag& keyed : config_flags()) {
    if (keyed.key->flag_path() == path && !keyed.flag->fixed) return keyed.flag->name;
  }
  return fmt::format("--set {}", path);
}

const SchemaNode* SchemaNode::child(const std::string& child_name) const {
  for (const SchemaNode& candidate : children) {
    const bool alias =
        candidate.key != nullptr && !child_name.empty() && candidate.key->alias == child_name;
    if (candidate.name == child_name || alias) return &candidate;
  }
  return wildcard();
}

const SchemaNode* SchemaNode::short_for() const {
  if (path == kSplitStreams) return child("file");
  return name == kPassageSection ? child("by") : nullptr;
}

const SchemaNode* SchemaNode::wildcard() const {
  return !children.empty() && children[0].name.starts_with('<') ? children.data() : nullptr;
}

const SchemaNode& config_schema() {
  static const SchemaNode schema = [] {
    SchemaNode root;
    for (const KeySpec& key : config_keys()) {
      for (const std::string& path : key.sections) {
        SchemaNode& section = section_at(root, path);
        section.children.push_back({.name = key.name,
                                    .path = join_key(section.path, key.name),
                                    .help = key.help,
                                    .key = &key});
      }
    }
    return root;
  }();
  return schema;
}

std::string suggest_key(const SchemaNode& section, const std::string& unknown) {
  std::vector<std::string> names;
  for (const SchemaNode& child : section.children) names.push_back(child.name);
  const std::string near = nearest(unknown, names.data(), names.size());
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  // `tokens` stands for `max_tokens`.
  const auto has_word = [&unknown](const std::string& name) {
    return name.starts_with(unknown + "_") || name.ends_with("_" + unknown);
  };
  if (std::ranges::count_if(names, has_word) == 1)
    return fmt::format("did you mean '{}'?", *std::ranges::find_if(names, has_word));
  const KeySpec* elsewhere = find_leaf(unknown, true);
  if (elsewhere == nullptr) return "leave it out; encode config --all lists all keys";
  return fmt::format("did you mean {}?", join_key(elsewhere->sections[0], elsewhere->name));
}

std::string join_key(const std::string& path, const std::string& name) {
  const std::string part = name.find('.') == std::string::npos ? name : fmt::format("\"{}\"", name);
  return path.empty() ? part : fmt::format("{}.{}", path, part);
}

std::vector<std::string> split_key(const std::string& path) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : path) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '.' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace encode
