// A run from YAML and flags: load, show, describe. docs/config.md is the reference for users.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

// One setting of the command line. It beats the file, for every stream.
struct Override {
  std::string key;    // "semantic.dtype"; any key of docs/config.md that has no name of a split or
                      // stream in it
  std::string value;  // "bfloat16", "1000", "true"; strings are taken literally, without YAML
                      // quotes; lists as "tc,commit"
  std::string flag;   // "--dtype", for messages and as the origin
};

// One effective setting.
struct Setting {
  std::string
      key;  // "semantic.dtype", "data.splits.train.tc.file"; a name with a dot in it is quoted
  std::string value;   // as YAML
  std::string origin;  // "default", "experiment.yaml:12:5", "--dtype"
};

struct LoadedConfig {
  RunConfig run;
  std::vector<Setting> settings;  // every key, in the order of docs/config.md; the keys of each
                                  // stream, stream by stream
};

// Reads the file at `path` ("": flags only), lays the overrides over it and checks the whole.
// Relative paths in it stay as they are: relative to the current directory. `store.fresh` is an
// action of one command, not a setting, and stays false. Throws Error with file:line:column:
// kConfig (78) for the file's content, kNoInput (66) where the file is missing, kUsage (64) for an
// override that cannot be used.
LoadedConfig load_config(const std::string& path, const std::vector<Override>& overrides);

// YAML that load_config() reads back to the same RunConfig (its own path aside), each value with
// its origin as a comment.
std::string print_config(const LoadedConfig& config);

// JSON Schema 2020-12 of the YAML, for editors; ends in '\n'. configs/schema.json is its copy.
std::string config_json_schema();

}  // namespace encode
