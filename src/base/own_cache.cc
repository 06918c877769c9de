#include "base/own_cache.h"

#include <filesystem>

namespace encode {

std::string hidden_beside(const std::string& output, const std::string& suffix) {
  const std::filesystem::path path(output);
  return (path.parent_path() / ("." + path.filename().string() + suffix)).string();
}

std::string own_cache_dir(const std::string& output) { return hidden_beside(output, ".cache"); }

std::string earlier_own_cache_dir(const std::string& output) { return output + ".cache"; }

bool has_own_cache(const StoreOptions& store) {
  return !store.output.empty() && store.cache_dir == own_cache_dir(store.output);
}

}  // namespace encode
