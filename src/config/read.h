// Reads a config file by the schema and checks each value on its own. resolve() then adds the
// defaults and checks the relations between values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "encode/error.h"

#include "config/schema.h"

namespace encode {

// A value that the user has given.
struct Given {
  Value value;
  std::string where;  // "experiment.yaml:12:5", "--dtype"
};

// A stream, and the place in the file (or the flag) that describes it.
struct StreamPlace {
  std::string split;  // "" for the only stream of a run without `data`
  std::string stream;
  std::string where;
  ExitCode exit_code = ExitCode::kConfig;  // for an error in the settings of the stream
};

struct ConfigFile {
  std::string name;                             // the name for messages; "" if there is no file
  std::map<std::string, Given> values;          // by key; an alias is replaced by the key's name
  std::map<std::string, std::string> sections;  // the path of each section -> its position
  std::vector<StreamPlace> streams;       // the streams of data.splits, in the order of the file
  std::vector<std::string> retired_keys;  // as RunConfig::retired_keys
};

// All functions throw the errors of load_config(). `path` is not "".

// Returns the bytes of the file. If the file is too large, returns one byte more than
// read_config_text() accepts, so that read_config_text() refuses the text.
std::string config_text(const std::string& path);
ConfigFile read_config_file(const std::string& path);
ConfigFile read_config_text(const std::string& text, const std::string& name);

}  // namespace encode
