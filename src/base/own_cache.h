// The cache directory of a run with an output file. Unless the user names another one, it lies
// beside the output, and the run removes it at its end. Any thread may call these functions. They
// throw no Error.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

// Returns the path of a hidden entry beside the output: "a/.x.npy.cache" for "a/x.npy" and
// ".cache".
std::string hidden_beside(const std::string& output, const std::string& suffix);

std::string own_cache_dir(const std::string& output);  // "a/.x.npy.cache"
// Returns "a/x.npy.cache", the cache directory of earlier versions. A run that finds a cache there
// goes on in it and does not remove it.
std::string earlier_own_cache_dir(const std::string& output);
// Returns the output for which own_cache_dir() or earlier_own_cache_dir() is this directory; "" if
// the directory has another name. The output may not exist.
std::string output_of_cache_dir(const std::string& cache_dir);

// Returns true if the cache directory is own_cache_dir().
bool has_own_cache(const StoreOptions& store);

}  // namespace encode
