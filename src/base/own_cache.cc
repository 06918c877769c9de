#include "base/own_cache.h"

#include <filesystem>

namespace encode {
namespace {

constexpr const char* kSuffix = ".cache";

}  // namespace

std::string hidden_beside(const std::string& output, const std::string& suffix) {
  const std::filesystem::path path(output);
  return (path.parent_path() / ("." + path.filename().string() + suffix)).string();
}

std::string own_cache_dir(const std::string& output) { return hidden_beside(output, kSuffix); }

std::string earlier_own_cache_dir(const std::string& output) { return output + kSuffix; }

std::string output_of_cache_dir(const std::string& cache_dir) {
  std::string own = cache_dir;
  while (own.ends_with('/')) own.pop_back();
  if (!own.ends_with(kSuffix)) return "";
  std::string output = own.substr(0, own.rfind('.'));
  const size_t name = output.rfind('/') + 1;  // 0 if there is no slash
  if (output.compare(name, 1, ".") != 0) return output;
  output.erase(name, 1);
  return output;
}

bool has_own_cache(const StoreOptions& store) {
  return !store.output.empty() && store.cache_dir == own_cache_dir(store.output);
}

}  // namespace encode
