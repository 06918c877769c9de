// A YAML file laid over the schema: every value checked, with its position. No defaults, no
// relations between values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "encode/error.h"

#include "config/schema.h"

namespace encode {

struct Given {
  Value value;
  std::string where;  // "experiment.yaml:12:5", "--dtype"
};

struct StreamPlace {
  std::string split;  // "": the only stream of a run without `data`
  std::string stream;
  std::string where;
  ExitCode exit_code = ExitCode::kConfig;  // of an error in its settings
};

struct ConfigFile {
  std::string name;                             // as in messages; "": there is no file
  std::map<std::string, Given> values;          // by key, aliases resolved
  std::map<std::string, std::string> sections;  // where each section stands, by path
  std::vector<StreamPlace> streams;             // of data.splits, in the order of the file
};

// Throws Error as load_config() does.
ConfigFile read_config_file(const std::string& path);
ConfigFile read_config_text(const std::string& text, const std::string& name);

}  // namespace encode
