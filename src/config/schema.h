// The table of all keys of a config. The loader, the messages, the flags of the commands and their
// help, the printed config, the JSON Schema and the reference in docs/config.md are all made from
// this table. Any thread may call the functions. They throw no Error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"

#include "config/value.h"

namespace encode {

// The sections that describe a stream. A name in angle brackets stands for any name.
inline constexpr const char* kSharedStreams = "data.streams.<stream>";  // a stream in all splits
// A stream in one split. It overrides kSharedStreams.
inline constexpr const char* kSplitStreams = "data.splits.<split>.<stream>";
inline constexpr const char* kSingleInput = "input";  // the only stream of a run without `data`
inline constexpr const char* kPassageSection =
    "passages";  // the section of `semantic` or of a stream

// The names that splits and streams may have. They are restricted, because they become parts of
// file names.
inline constexpr const char* kNamePattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$";
bool is_name(const std::string& text);  // true if it matches kNamePattern and has <= 100 bytes

// A group of flags has its own heading in --help. The groups have this order there. kMain has the
// flags that nearly every command line needs.
enum class FlagGroup { kMain, kTexts, kVectors, kSpeed, kMessages };
const char* flag_heading(FlagGroup group);  // "Device, speed and memory"

// A flag of the command line that sets a key.
struct KeyFlag {
  FlagGroup group = FlagGroup::kTexts;
  int place = 0;                 // the flags of a group are listed by this number
  std::string name;              // "--dtype"
  std::string placeholder = "";  // what --help shows for the value; "": made from the key's values
  std::optional<std::string> fixed = {};  // what the flag sets if it takes no value
  std::string help;  // a phrase for --help; KeySpec::help has the whole meaning
};

struct KeySpec {
  std::vector<std::string> sections;  // the sections that may have the key, such as "semantic"
  std::string name;
  std::string alias = "";  // another name for the same key, or ""
  ValueSpec value = {};
  // The default, written like the value of a flag. "null" stands for no value; `help` says what the
  // run does then.
  std::optional<std::string> default_text = {};
  // If there is no default_text, the text for the column "default" of docs/config.md: the source of
  // the default, or "required".
  std::string default_note = "";
  std::string inherits = "";  // for a key of a stream: the key that applies to all streams, or ""
  std::vector<KeyFlag> flags = {};  // several flags of a key exclude each other
  std::string no_flag = "";         // if there are no flags: a phrase that says why
  std::string help = "";
  // `set_run` stores the value in the run. `set_stream` stores it in a stream. If both are null,
  // the loader itself reads the value.
  void (*set_run)(RunConfig&, const Value&) = nullptr;
  void (*set_stream)(StreamConfig&, const Value&) = nullptr;

  bool in(const std::string& section) const;
  // Returns the key as it is below the sections of a stream ("prompt", "passages.field"), or "" if
  // no stream has it.
  std::string in_stream() const;
  Value default_value() const;    // may be called only if there is a default_text
  std::string flag_path() const;  // the key as flags and --set name it: "input.field"
};

// Returns a table that is made at the first call and lives as long as the process. Any thread may
// call it.
const std::vector<KeySpec>& config_keys();

// A key that earlier versions had. A config and a flag may still give it: its value is ignored, and
// the run warns of it.
struct RetiredKey {
  std::string_view path;  // "hardware.product_search"
  const char* flag;       // its flag, which --help does not show
};
std::span<const RetiredKey> retired_keys();
const RetiredKey* retired_key(std::string_view path);  // nullptr: no retired key has this path
// Returns a sentence for the log. `where` is the place of the key.
std::string describe(const RetiredKey& key, const std::string& where);

// A flag and the key that it sets. The pointers refer into config_keys().
struct KeyedFlag {
  const KeySpec* key;
  const KeyFlag* flag;
};
// Returns the flags of all keys in the order of --help. The table lives as long as the process. Any
// thread may call it.
const std::vector<KeyedFlag>& config_flags();

// Spells a setting for a message, as the user would give it on the command line ("--dtype int8",
// "--set hardware.max_restarts=5") or in a config ("semantic.dtype: int8"). `path` must be a
// KeySpec::flag_path().
std::string spelled_setting(const std::string& path, const std::string& value,
                            bool on_command_line);
// Does the same for a setting without its value: "--dtype", "--set hardware.max_restarts" or
// "semantic.dtype".
std::string setting_name(const std::string& path, bool on_command_line);

// The table as a tree of sections, which has the form of a config file.
struct SchemaNode {
  std::string name;  // for example "dtype"; a name such as "<stream>" matches any name
  std::string path;  // for example "data.splits.<split>.<stream>.file"
  std::string help = "";
  const KeySpec* key = nullptr;  // set for a leaf, null for a section
  std::vector<SchemaNode> children = {};

  // Returns the child with this name or alias, or wildcard() if there is none.
  const SchemaNode* child(const std::string& child_name) const;
  const SchemaNode* wildcard() const;  // returns the child that matches any name, or nullptr
  // Returns the key whose value a plain text in place of this section is, or nullptr if the section
  // must be a map: `file` of a stream in a split, and `by` of passages.
  const SchemaNode* short_for() const;
};

// The tree lives as long as the process. Any thread may call it.
const SchemaNode& config_schema();

// Returns a hint for a key that is unknown in `section`. If a key of this section is similar, the
// hint is "did you mean 'dtype'?". If a key of another section is similar, it is "did you mean
// semantic.dtype?". Otherwise the hint says where all keys are listed.
std::string suggest_key(const SchemaNode& section, const std::string& unknown);

// Joins "data" and "train" to "data.train". A name with a dot in it is quoted, so that every path
// has only one meaning.
std::string join_key(const std::string& path, const std::string& name);
// `path` must be a result of join_key().
std::vector<std::string> split_key(const std::string& path);  // the inverse of join_key

}  // namespace encode
