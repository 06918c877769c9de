// Which files of a model repository encode reads. Any thread may call this function.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "encode/model_directory.h"

namespace encode {

// Returns the files of a repository that encode needs, sorted, and the files that Python tools read
// to use the model in the same way. `available` are all files of the repository, such as
// "1_Pooling/config.json". The content of some files decides which others are needed, so a caller
// downloads a model in rounds: while the result names files that `folder` does not have, it
// downloads them into `folder` and calls again. Three rounds are enough.
//
// Returns pickled weights only if there are no safetensors, and never copies in other formats.
// Returns the weights only when the small files show that encode has the architecture and knows the
// code that they name, unless `code` is kIgnore. Throws Error:
//   "model.custom_code" kConfig  there is no recipe for the code of the repository
//   "model.format"     kConfig   the weights are in another format
//   "model.missing"    kNoInput  there is no config.json, no weights or not all shards
//   "model.name"       kConfig   a file in `folder` refers to a file that is not in the directory
// and what open_model_directory() throws for modules.json, config.json and the index.
std::vector<std::string> needed_files(const std::set<std::string>& available,
                                      const std::string& folder,
                                      CustomCodePolicy code = CustomCodePolicy::kRefuse);

}  // namespace encode
