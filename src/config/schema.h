// The table of all keys. The loader, the messages, the printed config, the JSON Schema and the
// reference in docs/config.md are all made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"

#include "config/value.h"

namespace encode {

// The sections that describe a stream. A name in angle brackets stands for any name.
inline constexpr const char* kSharedStreams = "data.streams.<stream>";        // for all splits
inline constexpr const char* kSplitStreams = "data.splits.<split>.<stream>";  // overrides it
inline constexpr const char* kSingleInput = "input";  // the only stream of a run without `data`

// The names that splits and streams may have, because they become parts of file names.
inline constexpr const char* kNamePattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$";
bool is_name(const std::string& text);  // true if it matches kNamePattern and has <= 100 bytes

struct KeySpec {
  std::vector<std::string> sections;  // the sections that may have the key: "semantic", ...
  std::string name;
  std::string alias = "";  // another name for the same key, or ""
  ValueSpec value = {};
  // The default as the text of a flag. "null" means "as the model directory says".
  std::optional<std::string> default_text = {};
  // For the reference, if there is no default_text: the source of the default, or "required".
  std::string default_note = "";
  std::string inherits = "";  // for a key of a stream: the key that applies to all streams, or ""
  std::string help = "";
  // Stores the value: in the run, or in every stream that it applies to. If both are null, the
  // loader itself reads the value.
  void (*set_run)(RunConfig&, const Value&) = nullptr;
  void (*set_stream)(StreamConfig&, const Value&) = nullptr;

  bool in(const std::string& section) const;
  Value default_value() const;  // requires default_text
};

const std::vector<KeySpec>& config_keys();

// The table as a tree of sections, which has the form of a config file.
struct SchemaNode {
  std::string name;  // "dtype"; "<stream>" matches any name
  std::string path;  // "data.splits.<split>.<stream>.file"
  std::string help = "";
  const KeySpec* key = nullptr;  // set for a leaf, null for a section
  std::vector<SchemaNode> children = {};

  // The child with this name or alias, else wildcard().
  const SchemaNode* child(const std::string& child_name) const;
  const SchemaNode* wildcard() const;  // the child that matches any name, or nullptr
  // True if the section may be a plain text, which is then its `file`.
  bool has_short_form() const { return path == kSplitStreams; }
};

const SchemaNode& config_schema();

// A hint for a key that is unknown in `section`: "did you mean 'dtype'?" for a key of this section,
// "did you mean semantic.dtype?" for a key of another section, or else the place of the list.
std::string suggest_key(const SchemaNode& section, const std::string& unknown);

// Joins "data" and "train" to "data.train". A name with a dot in it is quoted, so that every path
// has only one meaning.
std::string join_key(const std::string& path, const std::string& name);
std::vector<std::string> split_key(const std::string& path);  // the inverse of join_key

}  // namespace encode
