// YAML as a tree that knows where everything stands, within limits that a hostile file cannot
// exceed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encode {

// 1-based; the column counts bytes.
struct YamlMark {
  int64_t line = 1;
  int64_t column = 1;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  YamlMark mark;
  std::string text;     // kScalar
  bool quoted = false;  // kScalar: in quotes or a block, and so a text whatever it looks like
  std::vector<YamlNode> items;     // kList
  std::vector<YamlEntry> entries;  // kMap; keys are scalars, in the order of the file
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

inline constexpr int64_t kMaxYamlBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 32;

// One document of plain maps, lists and scalars in valid UTF-8. Refused with Error kConfig, where =
// "name:line:column": wrong syntax, more than kMaxYamlBytes or kMaxYamlDepth, a second document,
// anchors, aliases, tags, merge keys, keys that are no scalars, a key twice in one map. An empty
// document is kNull.
YamlNode parse_yaml(const std::string& text, const std::string& name);

std::string position(const std::string& name, YamlMark mark);  // "experiment.yaml:12:5"

}  // namespace encode
