// Makes the description of a run from YAML and flags. docs/config.md is the reference for users.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

// One setting of the command line. It overrides the file for every stream.
struct Override {
  // "semantic.dtype", or another key of docs/config.md that names no split and no stream.
  std::string key;
  // "bfloat16", "1000", "true". A text is taken literally, without YAML quotes. A list is
  // "tc,commit".
  std::string value;
  std::string flag;  // "--dtype", for messages and as the origin
};

// One setting that is in force.
struct Setting {
  // "semantic.dtype", "data.splits.train.tc.file". A name with a dot in it is quoted.
  std::string key;
  std::string value;   // as YAML
  std::string origin;  // "default", "experiment.yaml:12:5", "--dtype"
};

struct LoadedConfig {
  RunConfig run;
  // Every key, in the order of docs/config.md. The keys of a stream are there once for each stream.
  std::vector<Setting> settings;
};

// Reads the file at `path` ("" for no file), applies the overrides and checks the result. Relative
// paths stay relative to the current directory. StoreOptions::fresh stays false, because it is an
// action of one command and not a setting. Throws Error that names file:line:column or the flag:
// - kConfig if the content of the file is not valid,
// - kNoInput if the file is missing,
// - kUsage if an override is not valid.
LoadedConfig load_config(const std::string& path, const std::vector<Override>& overrides);

// Prints YAML with the origin of each value as a comment. load_config() reads it back to the same
// RunConfig, except for `config_path`. Does not throw Error.
std::string print_config(const LoadedConfig& config);

// A JSON Schema (2020-12) of the YAML, for editors. It ends in '\n'. configs/schema.json is a copy.
std::string config_json_schema();

}  // namespace encode
