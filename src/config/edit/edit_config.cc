#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"

#include "base/units.h"
#include "base/utf8.h"
#include "config/edit/config_edit.h"
#include "config/edit/edited_file.h"
#include "config/edit/line_diff.h"
#include "config/edit/yaml_places.h"
#include "config/read.h"
#include "config/schema.h"

namespace encode {
namespace {

[[noreturn]] void refuse_key(const ConfigEdit& edit, std::string hint) {
  throw Error({.code = "config.key",
               .exit_code = ExitCode::kUsage,
               .what = "no value has this key",
               .where = "the edit of " + preview(edit.key),
               .expected = "a key of docs/config.md, with the names of its sections",
               .found = fmt::format("'{}'", preview(edit.key)),
               .hint = std::move(hint)});
}

// Finds the key in the schema. Returns the sections that lead to it, and the key itself.
std::vector<const SchemaNode*> schema_path(const ConfigEdit& edit) {
  std::vector<const SchemaNode*> path;
  const SchemaNode* node = &config_schema();
  for (const std::string& name : split_key(edit.key)) {
    const SchemaNode* child = node->child(name);
    if (child == nullptr || (child == node->wildcard() && !is_name(name)))
      refuse_key(edit, suggest_key(*node, name));
    path.push_back(child);
    node = child;
  }
  if (node->key == nullptr) refuse_key(edit, "name a key of this section");
  return path;
}

// Checks that the new value is one scalar without a comment, and that the key accepts it.
YamlNode new_value(const ConfigEdit& edit, const KeySpec& key) {
  const std::string name = "the new value of " + preview(edit.key);
  YamlNode node = parse_yaml(edit.value, name);
  const YamlPlaces places(edit.value);
  const bool null = node.kind == YamlNode::Kind::kNull && edit.value == "null";
  const std::optional<YamlSpan> span =
      node.kind == YamlNode::Kind::kScalar ? places.scalar(node, false) : std::optional<YamlSpan>();
  const bool one_line = edit.value.find_first_of("\r\n") == std::string::npos;
  if (!null && (!span || span->begin != 0 || span->end != edit.value.size() || !one_line)) {
    throw Error({.code = "config.value",
                 .exit_code = ExitCode::kUsage,
                 .what = "the new value is not a YAML scalar",
                 .where = name,
                 .expected = "one value on one line",
                 .found = fmt::format("'{}'", preview(edit.value)),
                 .hint = "put a text in quotes"});
  }
  static_cast<void>(parse_value(key.value, node,
                                {.key = edit.key, .where = name, .exit_code = ExitCode::kUsage}));
  return node;
}

YamlNode map_of(std::string key, YamlNode value) {
  YamlNode map;
  map.kind = YamlNode::Kind::kMap;
  map.entries.resize(1);
  map.entries[0].key.kind = YamlNode::Kind::kScalar;
  map.entries[0].key.text = std::move(key);
  map.entries[0].value = std::move(value);
  return map;
}

// Returns true if two trees mean the same. The keys must have the same order.
bool same(const YamlNode& a, const YamlNode& b) {
  return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const YamlEntry& left, const YamlEntry& right) {
                      return left.key.text == right.key.text && same(left.value, right.value);
                    });
}

// One edit of one text. `where` has the name of the file.
class Edit {
 public:
  Edit(std::string_view text, std::string name, const ConfigEdit& edit)
      : text_(text),
        name_(std::move(name)),
        edit_(edit),
        path_(schema_path(edit)),
        parts_(split_key(edit.key)),
        value_(new_value(edit, *path_.back()->key)),
        places_(text_),
        tree_(parse_yaml(text_, name_)) {}

  std::string run() {
    YamlNode* map = &tree_;
    if (tree_.kind == YamlNode::Kind::kNull) {
      append_to_empty();
      return verified();
    }
    bool flow = false;
    for (size_t depth = 0;; ++depth) {
      flow = flow || places_.in_brackets(*map);
      YamlEntry* entry = find(*map, depth);
      if (entry == nullptr) {
        insert(*map, depth, flow);
        return verified();
      }
      mark_ = entry->key.mark;
      if (depth + 1 == parts_.size()) {
        replace(*entry, flow);
        return verified();
      }
      map = &entry->value;
      if (map->kind != YamlNode::Kind::kMap) {
        refuse("a map below " + parts_[depth], "a plain text, which is short for its file",
               "write the stream as a map: {file: ...}");
      }
    }
  }

 private:
  [[noreturn]] void refuse(std::string expected, std::string found, std::string hint) const {
    throw Error({.code = "config.edit",
                 .what = fmt::format("{} cannot be set to {} without changing something else",
                                     preview(edit_.key), preview(edit_.value)),
                 .where = position(name_, mark_),
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .hint = std::move(hint)});
  }

  YamlEntry* find(YamlNode& map, size_t depth) const {
    const SchemaNode& schema = *path_[depth];
    const auto found =
        std::find_if(map.entries.begin(), map.entries.end(), [&](const YamlEntry& entry) {
          const bool alias = schema.key != nullptr && !schema.key->alias.empty() &&
                             (entry.key.text == schema.name || entry.key.text == schema.key->alias);
          return alias || entry.key.text == parts_[depth];
        });
    return found == map.entries.end() ? nullptr : &*found;
  }

  void splice(YamlSpan span, std::string_view text) {
    new_text_ = text_.substr(0, span.begin);
    new_text_.append(text).append(text_.substr(span.end));
  }

  void replace(YamlEntry& entry, bool flow) {
    const std::optional<YamlSpan> span = places_.value(entry, flow);
    if (!span) {
      refuse("a value on the line of its key, or in quotes",
             "a text in a block or over several lines", "edit the file by hand");
    }
    const bool nothing = span->begin == span->end;
    splice(*span, nothing ? " " + edit_.value : edit_.value);
    entry.value = value_;
  }

  // Returns the new key in the style of its neighbours: in quotes if they are.
  std::string key_text(const YamlNode* neighbour, size_t depth) const {
    const std::string& key = parts_[depth];
    const char first = neighbour == nullptr ? ' ' : text_[places_.offset(neighbour->mark)];
    if (first == '"' || first == '\'') return first + key + first;
    return quote_if_needed(key);
  }

  void insert(YamlNode& map, size_t depth, bool flow) {
    if (!map.entries.empty()) mark_ = map.entries.back().key.mark;
    if (flow) {
      insert_in_brackets(map, depth);
    } else {
      insert_lines(map, depth);
    }
    YamlNode value = value_;
    for (size_t i = parts_.size() - 1; i > depth; --i) value = map_of(parts_[i], std::move(value));
    map.entries.push_back(map_of(parts_[depth], std::move(value)).entries[0]);
  }

  void insert_in_brackets(const YamlNode& map, size_t depth) {
    const YamlNode* neighbour = map.entries.empty() ? nullptr : &map.entries.front().key;
    std::optional<size_t> at = places_.offset(map.mark) + 1;
    if (neighbour != nullptr) at = places_.end(map.entries.back(), true);
    if (!at) refuse_place();
    std::string text = edit_.value;
    for (size_t i = parts_.size() - 1; i > depth; --i)
      text = fmt::format("{{{}: {}}}", key_text(neighbour, i), text);
    splice({.begin = *at, .end = *at}, fmt::format("{}{}: {}", neighbour == nullptr ? "" : ", ",
                                                   key_text(neighbour, depth), text));
  }

  void insert_lines(const YamlNode& map, size_t depth) {
    const std::optional<size_t> end = places_.end(map.entries.back(), false);
    const YamlNode& neighbour = map.entries.front().key;
    const size_t key = places_.offset(neighbour.mark);
    const std::string before = text_.substr(places_.line_begin(key), key - places_.line_begin(key));
    if (!end || before.find_first_not_of(' ') != std::string::npos) refuse_place();
    // The end of a block that keeps its empty lines is already the beginning of a line.
    const bool fresh_line = *end > 0 && text_[*end - 1] == '\n';
    const size_t at = fresh_line ? *end : places_.next_line(*end);
    std::string text = lines(&neighbour, depth, before.size());
    const std::string line_end = end_of_line(*end);
    if (at == text_.size() && !text_.ends_with('\n')) {
      text.insert(0, line_end);
    } else {
      text += line_end;
    }
    splice({.begin = at, .end = at}, text);
  }

  [[noreturn]] void refuse_place() const {
    refuse("a section with one key on each line, or in brackets", "another form of YAML",
           "edit the file by hand");
  }

  // Returns the lines of the new key and of the missing sections above it, without a line end.
  std::string lines(const YamlNode* neighbour, size_t depth, size_t indent) const {
    std::string text;
    for (size_t i = depth; i < parts_.size(); ++i, indent += step()) {
      if (i > depth) text += end_of_line(0);
      text += fmt::format("{:{}}{}:", "", indent, key_text(neighbour, i));
    }
    return text + " " + edit_.value;
  }

  void append_to_empty() {
    const bool open_line = !text_.empty() && !text_.ends_with('\n');
    std::string text = lines(nullptr, 0, 0);
    if (open_line) {
      text.insert(0, end_of_line(0));
    } else {
      text += end_of_line(0);
    }
    splice({.begin = text_.size(), .end = text_.size()}, text);
    tree_ = value_;
    for (size_t i = parts_.size(); i > 0; --i) tree_ = map_of(parts_[i - 1], std::move(tree_));
  }

  // Returns the line end of the line with this byte, or of the first line if this line has none.
  std::string end_of_line(size_t offset) const {
    size_t at = text_.find('\n', offset);
    if (at == std::string_view::npos) at = text_.find('\n');
    const bool carriage_return = at != std::string_view::npos && at > 0 && text_[at - 1] == '\r';
    return carriage_return ? "\r\n" : "\n";
  }

  // Returns the indent of the first section, which stands for the style of the file.
  size_t step() const {
    constexpr size_t kUsual = 2;
    for (const YamlEntry& entry : tree_.entries) {
      const YamlNode& value = entry.value;
      if (value.kind != YamlNode::Kind::kMap || places_.in_brackets(value)) continue;
      return static_cast<size_t>(value.entries.front().key.mark.column - entry.key.mark.column);
    }
    return kUsual;
  }

  // Parses the new text and throws unless it means the same as the old text apart from the new
  // value.
  std::string verified() const {
    try {
      if (same(parse_yaml(new_text_, name_), tree_)) return new_text_;
    } catch (const Error& error) {
      refuse("YAML that can be edited in place", "the edit would give: " + error.detail().what,
             "edit the file by hand");
    }
    refuse("an edit that changes this value only", "the edit would change other values",
           "edit the file by hand");
  }

  const std::string text_;
  const std::string name_;
  const ConfigEdit& edit_;
  const std::vector<const SchemaNode*> path_;
  const std::vector<std::string> parts_;
  const YamlNode value_;
  const YamlPlaces places_;
  YamlNode tree_;  // what the new text must mean
  YamlMark mark_;  // the key that is edited, or the one before it
  std::string new_text_;
};

}  // namespace

EditedConfig edit_config(const std::string& path, std::span<const ConfigEdit> edits) {
  EditedConfig edited;
  edited.file = edited_file(path);
  edited.old_text = config_text(edited.file);
  static_cast<void>(read_config_text(edited.old_text, edited.file));
  const bool marked = edited.old_text.starts_with(kByteOrderMark);
  std::string text = edited.old_text.substr(marked ? kByteOrderMark.size() : 0);
  for (const ConfigEdit& edit : edits) text = Edit(text, edited.file, edit).run();
  edited.new_text = (marked ? std::string(kByteOrderMark) : "") + text;
  static_cast<void>(read_config_text(edited.new_text, edited.file));
  edited.diff = unified_diff(edited.old_text, edited.new_text, edited.file);
  return edited;
}

}  // namespace encode
