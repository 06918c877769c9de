// Parses YAML into a tree of nodes with their positions. Size and depth are limited, because a file
// may be hostile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encode {

// A position in a file. Both numbers count from 1, and the column counts bytes.
struct YamlMark {
  int64_t line = 1;
  int64_t column = 1;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  YamlMark mark;
  std::string text;  // kScalar
  // For kScalar: true if the text was in quotes or in a block. It is then a text even if it looks
  // like a number.
  bool quoted = false;
  std::vector<YamlNode> items;     // kList
  std::vector<YamlEntry> entries;  // kMap: in the order of the file; all keys are scalars
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

inline constexpr int64_t kMaxYamlBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 32;

// Parses one document of plain maps, lists and scalars in valid UTF-8. An empty document is kNull.
// Throws Error kConfig with the place "name:line:column" for
// - wrong syntax, or more than one document,
// - more than kMaxYamlBytes or kMaxYamlDepth,
// - anchors, aliases, tags and merge keys,
// - a key that is not a scalar, or that is twice in one map.
YamlNode parse_yaml(const std::string& text, const std::string& name);

std::string position(const std::string& name, YamlMark mark);  // such as "experiment.yaml:12:5"

}  // namespace encode
