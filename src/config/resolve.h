// Layers and relations: flags beat a split's stream, which beats the stream's common settings,
// which beat `semantic`, which beats the default.
#pragma once

#include <vector>

#include "config/load.h"
#include "config/read.h"

namespace encode {

LoadedConfig resolve(const ConfigFile& file,
                     const std::vector<Override>& overrides);  // throws as load_config() does

// Relations between streams: names that are unique, an output file only for one of them, combined
// streams that exist. `origins` gives the place of a key, for messages.
struct Origin {
  std::string where;
  ExitCode exit_code = ExitCode::kConfig;
};
void check_streams(const RunConfig& run, const std::vector<StreamPlace>& places,
                   const Origin& output, const Origin& combine);

}  // namespace encode
