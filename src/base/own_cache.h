// The cache directory that a run with an output file has for itself, unless the user names another
// one. It lies beside the output, and a finished run removes it.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

// Returns the path of a hidden entry beside the output: "a/.x.npy.cache" for "a/x.npy" and
// ".cache".
std::string hidden_beside(const std::string& output, const std::string& suffix);

std::string own_cache_dir(const std::string& output);  // "a/.x.npy.cache"
// "a/x.npy.cache", where earlier versions had it. A run that finds one there goes on in it and does
// not remove it.
std::string earlier_own_cache_dir(const std::string& output);
// The path of the output whose run has this cache directory because nobody has chosen another one;
// "" if the directory has another name. The file may not exist. Does not throw Error.
std::string output_of_cache_dir(const std::string& cache_dir);

// Returns true if the cache directory is own_cache_dir().
bool has_own_cache(const StoreOptions& store);

}  // namespace encode
