// The one table of all keys. Loading, messages, printing, the JSON Schema and the reference in
// docs/config.md follow it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"

#include "config/value.h"

namespace encode {

// Sections in which a stream is described. A name in angle brackets stands for any name of the
// user's.
inline constexpr const char* kSharedStreams = "data.streams.<stream>";  // for all splits
inline constexpr const char* kSplitStreams =
    "data.splits.<split>.<stream>";                   // for one split; beats the above
inline constexpr const char* kSingleInput = "input";  // the only stream of a run without `data`

inline constexpr const char* kNamePattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$";
bool is_name(const std::string& text);  // matches kNamePattern and has at most 100 bytes

struct KeySpec {
  std::vector<std::string>
      sections;  // where it may stand: "semantic", or several of the sections above
  std::string name;
  std::string alias = "";  // another accepted name
  ValueSpec value = {};
  std::optional<std::string> default_text =
      {};  // as on a command line; "null": as the model directory says
  std::string default_note =
      "";                     // without default_text: where the default comes from, or "required"
  std::string inherits = "";  // a stream's key: the key that holds for all streams
  std::string help = "";
  // Where the value goes: into the run, or into every stream that it holds for. Neither: the loader
  // reads it.
  void (*set_run)(RunConfig&, const Value&) = nullptr;
  void (*set_stream)(StreamConfig&, const Value&) = nullptr;

  bool in(const std::string& section) const;
  Value default_value() const;  // where there is a default_text
};

const std::vector<KeySpec>& config_keys();

// The table as the tree that a file follows.
struct SchemaNode {
  std::string name;  // "dtype"; "<stream>" matches any name
  std::string path;  // "data.splits.<split>.<stream>.file"
  std::string help = "";
  const KeySpec* key = nullptr;  // a leaf
  std::vector<SchemaNode> children = {};

  const SchemaNode* child(
      const std::string& child_name) const;  // by name, alias or wildcard; nullptr: none
  const SchemaNode* wildcard() const;        // the child that matches any name, or nullptr
  // A split's stream given as a plain text: its file.
  bool has_short_form() const { return path == kSplitStreams; }
};

const SchemaNode& config_schema();

// The nearest valid key for one that is unknown in `section`, as a sentence: "did you mean
// 'dtype'?", or where the key belongs, or "".
std::string suggest_key(const SchemaNode& section, const std::string& unknown);

// "data" + "train" = "data.train"; a name with a dot in it is quoted, so that a path has one
// meaning.
std::string join_key(const std::string& path, const std::string& name);
std::vector<std::string> split_key(const std::string& path);  // the inverse of join_key

}  // namespace encode
