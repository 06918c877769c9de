// Makes the description of a run from YAML and flags. docs/config.md is the reference for users.
// Any thread may call these functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

// One setting of the command line. It overrides the config file for every stream.
struct Override {
  // A key of docs/config.md, for example "semantic.dtype". It cannot name a split or a stream.
  std::string key;
  // For example "bfloat16", "1000" or "true". A text is taken literally, without YAML quotes. The
  // items of a list are separated by commas: "tc,commit".
  std::string value;
  std::string flag;  // the name of the flag ("--dtype"), for messages and for Setting::origin
};

// The value of one key in a loaded config.
struct Setting {
  // For example "semantic.dtype" or "data.splits.train.tc.file". A name with a dot in it is quoted.
  std::string key;
  std::string value;   // as YAML
  std::string origin;  // where the value comes from: "default", "experiment.yaml:12:5", "--dtype"
  // The key of the file that gives the value. For a key of a stream it can be the key that the
  // stream inherits, such as "semantic.dtype". "" for a default and a flag.
  std::string source = {};
};

struct LoadedConfig {
  RunConfig run;
  // Every key, in the order of docs/config.md. There is an entry for each key of each stream.
  std::vector<Setting> settings;
};

// Returns the names of the fields of an input, for the message that a field is missing: "id, text";
// "" if they are not known. Must throw no Error.
using FieldLister = std::function<std::string(const InputOptions&)>;

// Reads the config file at `path` ("" for no file), applies the overrides and checks the result.
// Relative paths in the file are relative to the current directory. StoreOptions::fresh and
// StoreOptions::overwrite stay false, because they are not settings. Throws Error that names
// file:line:column or the flag:
// - kConfig if the content of the file is not valid,
// - kNoInput if the file is missing,
// - kUsage if an override is not valid.
LoadedConfig load_config(const std::string& path, const std::vector<Override>& overrides,
                         const FieldLister& list_fields = {});

// Checks an input of a command without a config, which --input, --field, --text and --where
// describe. Throws the Error kUsage of load_config() unless it has a format, and the field that
// this format needs.
void check_input(const InputOptions& input, const FieldLister& list_fields);

// Checks InputOptions::passage_field of such an input, which the flag `flag` names. Clears it if it
// is the whole text. Throws the Error kUsage of load_config() if it is not once in the template.
void check_passage_field(InputOptions& input, const std::string& flag);

// Returns the device that the flag --device names, for commands without a config. Throws Error
// kUsage as load_config() does.
DeviceChoice device_of_flag(const std::string& name);

enum class PrintedKeys { kAll, kGiven };  // kGiven: without the keys that have their defaults

// Prints YAML with the origin of each value as a comment. load_config() reads it back to the same
// RunConfig, except for `config_path` and the name of a stream that is made of flags. Does not
// throw Error.
std::string print_config(const LoadedConfig& config, PrintedKeys keys = PrintedKeys::kAll);

// Returns a JSON Schema (2020-12) of config files, for editors. It ends in '\n'.
// configs/schema.json is a copy.
std::string config_json_schema();

}  // namespace encode
