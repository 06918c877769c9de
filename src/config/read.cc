#include "config/read.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/file.h"
#include "base/named_path.h"
#include "base/units.h"

namespace encode {
namespace {

std::string valid_keys(const SchemaNode& section, const std::string& unknown) {
  std::vector<std::string> keys;
  for (const SchemaNode& child : section.children) keys.push_back(child.name);
  return one_of(keys, unknown);
}

class Reader {
 public:
  explicit Reader(ConfigFile& file) : file_(file) {}

  void read_section(const SchemaNode& section, const YamlNode& node, YamlMark mark,
                    const std::string& path) {
    if (node.kind != YamlNode::Kind::kMap) refuse_section(section, node, mark, path);
    for (const auto& [key, value] : node.entries) read_entry(section, key, value, path);
  }

 private:
  std::string where(YamlMark mark) const { return position(file_.name, mark); }

  void read_entry(const SchemaNode& section, const YamlNode& key, const YamlNode& value,
                  const std::string& path) {
    const SchemaNode* child = section.child(key.text);
    if (child == nullptr) {
      const RetiredKey* retired = retired_key(join_key(path, key.text));
      if (retired == nullptr) refuse_key(section, key, path);
      file_.retired_keys.push_back(describe(*retired, where(key.mark)));
      return;
    }
    const bool any_name = child == section.wildcard();
    if (any_name && !is_name(key.text)) refuse_name(*child, key);
    const std::string child_path = join_key(path, any_name ? key.text : child->name);
    if (child->key != nullptr) {
      read_value(*child, child_path, value,
                 value.kind == YamlNode::Kind::kNull ? key.mark : value.mark);
      return;
    }
    file_.sections[child_path] = where(key.mark);
    if (child->path == kSplitStreams)
      file_.streams.push_back(
          {.split = split_key(path).back(), .stream = key.text, .where = where(key.mark)});
    const bool plain = value.kind == YamlNode::Kind::kScalar || value.kind == YamlNode::Kind::kList;
    if (const SchemaNode* leaf = child->short_for(); leaf != nullptr && plain) {
      read_value(*leaf, join_key(child_path, leaf->name), value, value.mark);
      return;
    }
    // If the value is empty, uses the position of the key. yaml-cpp gives an empty value the
    // position of the next value.
    read_section(*child, value, value.kind == YamlNode::Kind::kNull ? key.mark : value.mark,
                 child_path);
  }

  void read_value(const SchemaNode& leaf, const std::string& path, const YamlNode& value,
                  YamlMark mark) {
    Given given = {
        .value = parse_value(leaf.key->value, value, {.key = path, .where = where(mark)}),
        .where = where(mark)};
    const auto [entry, added] = file_.values.emplace(path, std::move(given));
    if (added) return;
    throw Error({.code = "config.duplicate",
                 .what = path + " is given twice, under two names",
                 .where = where(mark),
                 .expected = fmt::format("'{}' or '{}'", leaf.key->name, leaf.key->alias),
                 .found = "both; the other one is at " + entry->second.where,
                 .hint = "delete one of the two"});
  }

  [[noreturn]] void refuse_key(const SchemaNode& section, const YamlNode& key,
                               const std::string& path) const {
    throw Error({.code = "config.key",
                 .what = path.empty() ? "unknown key" : "unknown key in " + path,
                 .where = where(key.mark),
                 .expected = valid_keys(section, key.text),
                 .found = fmt::format("'{}'", preview(key.text)),
                 .hint = suggest_key(section, key.text)});
  }

  [[noreturn]] void refuse_name(const SchemaNode& wildcard, const YamlNode& key) const {
    throw Error({.code = "config.name",
                 .what = wildcard.name + " has a name that cannot be part of a file name",
                 .where = where(key.mark),
                 .expected = "1 to 100 letters, digits, '_', '.' or '-', a letter or digit first",
                 .found = fmt::format("'{}'", preview(key.text)),
                 .hint = "choose another name"});
  }

  [[noreturn]] void refuse_section(const SchemaNode& section, const YamlNode& node, YamlMark mark,
                                   const std::string& path) const {
    throw Error(
        {.code = "config.type",
         .what = path.empty() ? "the file has the wrong form" : path + " has the wrong type",
         .where = where(mark),
         .expected = section.wildcard() == nullptr
                         ? "a map with keys " + valid_keys(section, "")
                         : fmt::format("a map from {} to its settings", section.wildcard()->name),
         .found = describe(node),
         .hint = node.kind == YamlNode::Kind::kNull
                     ? "delete the line, or indent its keys below it"
                     : "write 'key: value' lines, indented by spaces"});
  }

  ConfigFile& file_;
};

}  // namespace

ConfigFile read_config_text(const std::string& text, const std::string& name) {
  ConfigFile file;
  file.name = name;
  const YamlNode root = parse_yaml(text, name);
  if (root.kind != YamlNode::Kind::kNull)
    Reader(file).read_section(config_schema(), root, root.mark, "");
  return file;
}

std::string config_text(const std::string& path) {
  const UniqueFd fd = open_named_file(path, "config.file");
  const int64_t bytes = std::min(file_size(fd, path), kMaxYamlBytes + 1);
  std::string text(static_cast<size_t>(bytes), '\0');
  pread_all(fd, text, 0, path);
  return text;
}

ConfigFile read_config_file(const std::string& path) {
  return read_config_text(config_text(path), path);
}

}  // namespace encode
