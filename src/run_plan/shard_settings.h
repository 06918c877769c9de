// The settings of a config on which the parts of all shards must agree.
#pragma once

#include <map>
#include <string>

#include "encode/config.h"

namespace encode {

// Returns the settings by name: "train_tc: max_length" -> "128". They are the options of the inputs
// and of the result as the config gives them, the format of the final matrices, `quarantine`,
// `output` and `combine`. Of the paths of inputs and models only the last part counts, because
// machines may have them in different places; the hashes in the plan prove what they are. Throws
// the Error of reading the file of the ranges. Any thread may call it.
std::map<std::string, std::string> settings_of_shards(const RunConfig& config);

}  // namespace encode
