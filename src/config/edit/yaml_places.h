// Finds the bytes of values in the text of a config.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "config/yaml_tree.h"

namespace encode {

struct YamlSpan {
  size_t begin = 0;
  size_t end = 0;  // the offset after the last byte
};

// The nodes must come from parse_yaml() of the same text, which must not begin with a byte order
// mark and must outlive this object. Offsets count bytes. A function returns nullopt if it cannot
// find the place, for example because a plain text goes over several lines. A place can still be
// wrong in YAML that is legal but unusual, so parse the text again after a change. No function
// throws Error.
class YamlPlaces {
 public:
  explicit YamlPlaces(std::string_view text);

  size_t offset(YamlMark mark) const;
  size_t line_begin(size_t offset) const;  // of the line that has this byte
  size_t next_line(size_t offset) const;   // the first byte after the line, or the end of the text

  // True if the map or list is written with brackets: {a: 1}, [tc, commit].
  bool in_brackets(const YamlNode& node) const;

  // Returns the place of a key, or of a value that is a scalar. `flow`: it is inside brackets.
  std::optional<YamlSpan> scalar(const YamlNode& node, bool flow) const;
  // Returns the place of the value of an entry, which is a scalar or empty. An empty value has an
  // empty place after the colon.
  std::optional<YamlSpan> value(const YamlEntry& entry, bool flow) const;
  // Returns the end of an entry, including everything that belongs to its value.
  std::optional<size_t> end(const YamlEntry& entry, bool flow) const;

 private:
  std::optional<size_t> after_colon(const YamlNode& key, bool flow) const;
  std::optional<size_t> end_in_brackets(const YamlNode& node) const;
  size_t end_of_deeper_lines(const YamlEntry& entry) const;
  size_t quoted_end(size_t begin) const;
  size_t plain_end(size_t begin, bool flow) const;
  size_t skip_blanks(size_t offset) const;

  std::string_view text_;
  std::vector<size_t> lines_;  // the offset of each line
};

}  // namespace encode
