// Random edits of random configs: every byte outside the edited value is kept, and every other key
// keeps its value.
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "config/edit/config_edit.h"
#include "config/read.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

// A config as a tree, before it is written in one of many styles.
struct Tree {
  std::string name;
  std::vector<std::string> styles;  // for a key: ways to write its value in YAML
  std::vector<Tree> children;       // for a section
};

const std::vector<std::string> kIntegers = {"32", "0", "7"};
const std::vector<std::string> kTexts = {"plain",
                                         "two words",
                                         "'it''s # x'",
                                         "\"a \\\" { b\"",
                                         "\"over\n      two: lines\"",
                                         "\"\xc3\xa9\xe2\x82\xac\""};

Tree key(std::string name, std::vector<std::string> styles) {
  return {.name = std::move(name), .styles = std::move(styles), .children = {}};
}
Tree section(std::string name, std::vector<Tree> children) {
  return {.name = std::move(name), .styles = {}, .children = std::move(children)};
}

const Tree all_keys = section(
    "", {section("semantic", {key("model", kTexts), key("batch_size", kIntegers),
                              key("batch_tokens", kIntegers), key("prompt", kTexts),
                              key("max_length", {"128", "null", "~", ""})}),
         section("hardware", {key("threads", kIntegers),
                              section("allocator", {key("expandable_segments", {"true"})})}),
         section("data",
                 {section("streams",
                          {section("tc", {key("batch_size", kIntegers), key("field", kTexts)}),
                           section("a.b", {key("batch_tokens", kIntegers)})}),
                  section("splits", {section("train", {section("tc", {key("file", kTexts)}),
                                                       section("a.b", {key("file", kTexts)})})})}),
         section("log", {key("json", {"true", "false"}), key("progress", {"false"})})});

const std::vector<ConfigEdit> edits = {{"semantic.model", "'new one'"},
                                       {"semantic.batch_size", "auto"},
                                       {"semantic.batch_tokens", "16384"},
                                       {"semantic.max_length", "77"},
                                       {"semantic.prompt", "\"q: \""},
                                       {"semantic.chunk_size", "auto"},
                                       {"hardware.threads", "3"},
                                       {"hardware.allocator.conf", "\"\""},
                                       {"data.streams.tc.batch_size", "5"},
                                       {"data.streams.tc.batch_tokens", "9"},
                                       {"data.streams.\"a.b\".batch_tokens", "11"},
                                       {"data.splits.train.tc.file", "new.txt"},
                                       {"data.splits.train.tc.limit_rows", "2"},
                                       {"output.file", "o.npy"},
                                       {"log.json", "true"}};

// Writes a random part of a tree, and remembers where the value of each key is.
class Writer {
 public:
  explicit Writer(unsigned seed)
      : random_(seed), line_end_(chance(4) ? "\r\n" : "\n"), step_(1 + pick(4)) {}

  std::string write() {
    noise(0);
    if (chance(8)) text_ += "---" + line_end_;
    block(all_keys, 0, "");
    noise(0);
    if (chance(3) && text_.ends_with(line_end_)) text_.resize(text_.size() - line_end_.size());
    return text_;
  }

  struct Place {
    size_t begin = 0;
    size_t size = 0;
  };
  const std::map<std::string, Place>& places() const { return places_; }

 private:
  size_t pick(size_t count) { return random_() % count; }
  bool chance(size_t one_in) { return pick(one_in) == 0; }

  // Comments and empty lines that look like something else.
  void noise(size_t indent) {
    while (chance(3)) {
      const std::vector<std::string> lines = {"",  "# batch_size: 'x", "   ",
                                              "#", "# {a: b",          "# \"[,"};
      const std::string& line = lines[pick(lines.size())];
      if (line.starts_with('#')) text_ += std::string(indent, ' ');
      text_ += line + line_end_;
    }
  }

  std::string name(const std::string& name) { return chance(5) ? '"' + name + '"' : name; }

  void value(const Tree& tree, const std::string& path) {
    std::string text = tree.styles[pick(tree.styles.size())];
    if (text.empty()) text_.resize(text_.find_last_not_of(' ') + 1);  // up to the colon
    places_[path] = {.begin = text_.size(), .size = text.size()};
    text_ += text;
  }

  std::vector<const Tree*> some(const Tree& tree) {
    std::vector<const Tree*> kept;
    for (const Tree& child : tree.children) {
      if (!chance(4)) kept.push_back(&child);
    }
    if (kept.empty()) kept.push_back(&tree.children[pick(tree.children.size())]);
    return kept;
  }

  static std::string path_to(const std::string& path, const Tree& tree) {
    return join_key(path, tree.name);
  }

  void block(const Tree& tree, size_t indent, const std::string& path) {
    for (const Tree* child : some(tree)) {
      const std::string child_path = path_to(path, *child);
      text_ += std::string(indent, ' ') + name(child->name) + (chance(9) ? " :" : ":");
      if (!child->styles.empty()) {
        text_ += std::string(1 + pick(3), ' ');
        value(*child, child_path);
      } else if (chance(3)) {
        text_ += ' ';
        brackets(*child, child_path);
      } else {
        text_ += (chance(4) ? "  # below" : "") + line_end_;
        noise(indent + step_);
        block(*child, indent + step_, child_path);
        continue;
      }
      text_ += (chance(3) ? "  # why: 'not" : "") + line_end_;
      noise(indent);
    }
  }

  void brackets(const Tree& tree, const std::string& path) {
    const std::string space = chance(2) ? " " : "";
    text_ += '{' + space;
    bool first = true;
    for (const Tree* child : some(tree)) {
      if (!first) text_ += ", ";
      first = false;
      text_ += name(child->name) + ": ";
      const std::string child_path = path_to(path, *child);
      if (child->styles.empty()) {
        brackets(*child, child_path);
      } else {
        value(*child, child_path);
      }
    }
    text_ += (chance(5) ? "," : "") + space + '}';
  }

  std::mt19937 random_;
  std::string line_end_;
  size_t step_;
  std::string text_;
  std::map<std::string, Place> places_;
};

// Returns true if `after` is `before` with bytes added at one place.
bool only_adds(const std::string& before, const std::string& after) {
  const auto prefix = static_cast<size_t>(
      std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first -
      before.begin());
  return after.size() > before.size() && after.ends_with(before.substr(prefix));
}

std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const auto& [key, given] : read_config_text(text, "f").values)
    values[key] = to_yaml(given.value);
  return values;
}

TEST(EditProperty, KeepsAllOtherBytesAndValues) {
  const testing::TempDir dir;
  int replaced = 0;
  int added = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Writer writer(seed);
    const std::string before = writer.write();
    const ConfigEdit& edit = edits[seed % edits.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + edit.key + "\n" + before);
    std::string after;
    try {
      after = edit_config(dir.write("run.yaml", before), std::vector{edit}).new_text;
    } catch (const Error& error) {
      FAIL() << error.what();
    }
    const auto place = writer.places().find(edit.key);
    if (place != writer.places().end()) {
      const auto [begin, size] = place->second;
      const std::string space = size == 0 ? " " : "";
      ASSERT_EQ(after, before.substr(0, begin) + space + edit.value + before.substr(begin + size));
      ++replaced;
    } else {
      ASSERT_TRUE(only_adds(before, after)) << after;
      ++added;
    }
    std::map<std::string, std::string> expected = values_of(before);
    const std::map<std::string, std::string> found = values_of(after);
    expected[edit.key] = found.at(edit.key);
    ASSERT_EQ(found, expected);
  }
  EXPECT_GT(replaced, 60);
  EXPECT_GT(added, 60);
}

}  // namespace
}  // namespace encode
