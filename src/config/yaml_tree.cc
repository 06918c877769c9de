#include "config/yaml_tree.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sstream>
#include <string_view>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "encode/error.h"

#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

struct YamlRefusal {
  ErrorCode code;
  const char* what;
  std::string expected;
  std::string found;
  const char* hint;
};

[[noreturn]] void refuse_yaml(const std::string& name, YamlMark mark, YamlRefusal refusal) {
  throw Error({.code = refusal.code,
               .exit_code = ExitCode::kConfig,
               .what = refusal.what,
               .where = position(name, mark),
               .expected = std::move(refusal.expected),
               .found = std::move(refusal.found),
               .hint = refusal.hint});
}

YamlMark to_mark(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {.line = mark.line + 1, .column = mark.column + 1};
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
}

// Refuses invalid UTF-8 and control characters. yaml-cpp does not check the bytes: it may take them
// for UTF-16, and it stops at a NUL without an error.
void check_characters(std::string_view text, const std::string& name) {
  const std::string_view valid = text.substr(0, first_invalid_utf8(text));
  const auto bad = std::find_if(valid.begin(), valid.end(), is_control);
  const auto at = static_cast<size_t>(bad - valid.begin());
  if (at == text.size()) return;
  const auto line = 1 + std::count(valid.begin(), bad, '\n');
  const size_t line_begin = text.substr(0, at).rfind('\n') + 1;  // npos + 1 = 0
  refuse_yaml(name, {.line = line, .column = static_cast<int64_t>(at - line_begin) + 1},
              {.code = "config.syntax",
               .what = "the file is not a text file",
               .expected = "UTF-8 without control characters",
               .found = "byte " + preview(text.substr(at, 1)),
               .hint = "save the file as UTF-8; check that this is the file you meant"});
}

// Builds the tree from the events of the YAML parser. YAML::Load is not used, because it does not
// show anchors, tags, quotes and duplicate keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::string name)
      : name_(std::move(name)), lines_(split_lines(text)) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      refuse_yaml(name_, to_mark(mark),
                  {.code = "config.syntax",
                   .what = "the file holds more than one document",
                   .expected = "one YAML document",
                   .found = "a second one ('---')",
                   .hint = "keep one experiment in one file"});
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_plain(mark, "?", anchor);
    add({.kind = YamlNode::Kind::kNull,
         .mark = to_mark(mark),
         .text = "",
         .items = {},
         .entries = {}});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_feature(mark, "an alias ('*name')");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_plain(mark, tag, anchor);
    const bool quoted = tag == "!";
    if (quoted) check_closed(to_mark(mark));
    add({.kind = YamlNode::Kind::kScalar,
         .mark = to_mark(mark),
         .text = value,
         .quoted = quoted,
         .items = {},
         .entries = {}});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    YamlNode node;
    bool has_key = false;
    YamlNode key;
    std::set<std::string> keys;
  };

  [[noreturn]] void refuse_feature(const YAML::Mark& mark, const char* found) const {
    refuse_yaml(name_, to_mark(mark),
                {.code = "config.syntax",
                 .what = "encode does not support this part of YAML",
                 .expected = "plain maps, lists and values",
                 .found = found,
                 .hint = "write the value out; a text that begins with &, * or ! needs quotes"});
  }

  void check_plain(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) refuse_feature(mark, "an anchor ('&name')");
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_feature(mark, "a tag ('!type')");
  }

  // Refuses a quoted text without its closing quote. yaml-cpp accepts it at the end of the file.
  void check_closed(YamlMark mark) const {
    auto line = static_cast<size_t>(mark.line - 1);
    size_t at = static_cast<size_t>(mark.column - 1);
    if (line >= lines_.size() || at >= lines_[line].size()) return;
    const char quote = lines_[line][at];
    if (quote != '"' && quote != '\'') return;
    for (++at; line < lines_.size(); ++line, at = 0) {
      for (; at < lines_[line].size(); ++at) {
        const char c = lines_[line][at];
        const bool doubled = quote == '\'' && lines_[line].substr(at, 2) == "''";
        if (doubled || (quote == '"' && c == '\\')) {
          ++at;
        } else if (c == quote) {
          return;
        }
      }
    }
    refuse_yaml(name_, mark,
                {.code = "config.syntax",
                 .what = "a quoted text has no end",
                 .expected = quote == '"' ? "a closing \"" : "a closing '",
                 .found = "the end of the file",
                 .hint = "close the quote"});
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    check_plain(mark, tag, anchor);
    if (stack_.size() >= static_cast<size_t>(kMaxYamlDepth)) {
      refuse_yaml(name_, to_mark(mark),
                  {.code = "config.limit",
                   .what = "maps and lists are nested too deeply",
                   .expected = "at most 32 levels",
                   .found = "33",
                   .hint = "check that this is the file you meant"});
    }
    Level level;
    level.node.kind = kind;
    level.node.mark = to_mark(mark);
    stack_.push_back(std::move(level));
  }

  void close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = stack_.back();
    if (level.node.kind == YamlNode::Kind::kList) {
      level.node.items.push_back(std::move(node));
    } else if (level.has_key) {
      level.node.entries.push_back({.key = std::move(level.key), .value = std::move(node)});
      level.has_key = false;
    } else {
      check_key(node, level);
      level.key = std::move(node);
      level.has_key = true;
    }
  }

  void check_key(const YamlNode& key, Level& level) const {
    if (key.kind != YamlNode::Kind::kScalar) {
      refuse_yaml(name_, key.mark,
                  {.code = "config.syntax",
                   .what = "a key is not a text",
                   .expected = "a name and a colon, as in 'dtype: float32'",
                   .found = key.kind == YamlNode::Kind::kNull ? "nothing" : "a map or a list",
                   .hint = "quote a name that has another meaning in YAML, as in \"null\":"});
    }
    if (key.text == "<<" && !key.quoted) {
      refuse_yaml(
          name_, key.mark,
          {.code = "config.syntax",
           .what = "encode does not support this part of YAML",
           .expected = "plain maps, lists and values",
           .found = "a merge key ('<<')",
           .hint = "write the values out; put settings that streams share into data.streams"});
    }
    if (!level.keys.insert(key.text).second) {
      refuse_yaml(name_, key.mark,
                  {.code = "config.duplicate",
                   .what = "a key appears twice in one map",
                   .expected = "each key once",
                   .found = fmt::format("'{}' again", preview(key.text)),
                   .hint = "delete one of the two"});
    }
  }

  std::string name_;
  std::vector<std::string_view> lines_;
  int documents_ = 0;
  std::vector<Level> stack_;
  YamlNode root_;
};

const char* syntax_hint(const YAML::Exception& error, const std::vector<std::string_view>& lines) {
  const auto line = static_cast<size_t>(error.mark.line);
  if (line < lines.size() && lines[line].find('\t') != std::string_view::npos) {
    return "indent with spaces: YAML allows no tabs";
  }
  if (error.msg == YAML::ErrorMsg::MAP_VALUE) {
    return "check the indentation; quote a text that contains ': '";
  }
  return "check the indentation, the quotes and the brackets here and in the line above";
}

}  // namespace

std::string position(const std::string& name, YamlMark mark) {
  return fmt::format("{}:{}:{}", name, mark.line, mark.column);
}

YamlNode parse_yaml(const std::string& text, const std::string& name) {
  if (text.size() > static_cast<size_t>(kMaxYamlBytes)) {
    refuse_yaml(name, {},
                {.code = "config.limit",
                 .what = "the file is too large",
                 .expected = fmt::format("at most {} bytes", kMaxYamlBytes),
                 .found = fmt::format("{} bytes", text.size()),
                 .hint = "check that this is the file you meant"});
  }
  const std::string body =
      text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
  check_characters(body, name);
  TreeBuilder builder(body, name);
  try {
    std::istringstream in(body);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    refuse_yaml(name, to_mark(error.mark),
                {.code = "config.syntax",
                 .what = "the file is not valid YAML",
                 .expected = "'key: value' lines, indented by spaces",
                 .found = error.msg,
                 .hint = syntax_hint(error, split_lines(body))});
  }
  return builder.take();
}

}  // namespace encode
