// Chooses the value of every key and checks the relations between values. These are the sources of
// a value, the strongest first:
// - a flag,
// - the stream in its split (data.splits),
// - the stream in all splits (data.streams),
// - `semantic`,
// - the default.
#pragma once

#include <vector>

#include "config/load.h"
#include "config/read.h"

namespace encode {

LoadedConfig resolve(const ConfigFile& file,
                     const std::vector<Override>& overrides);  // throws what load_config() throws

// The place at which a key was given, and the exit code of an error there.
struct Origin {
  std::string where;
  ExitCode exit_code = ExitCode::kConfig;
};

// Checks that the names of the streams differ, that only a run with one stream has an output file,
// that combined streams exist, and that every input has a format and the field that the format
// needs. `output` and `combine` are the origins of output.file and output.combine. Throws Error.
void check_streams(const RunConfig& run, const std::vector<StreamPlace>& places,
                   const Origin& output, const Origin& combine);

}  // namespace encode
