#include "base/own_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace encode {
namespace {

constexpr std::array kAfterTheName = {kManifestSuffix, kPublishingSuffix, kRangesSuffix};
constexpr std::array kInPlaceOfNpy = {kLedgerSuffix,   kOffsetsSuffix,    kPassagesSuffix,
                                      kSetAsideSuffix, kSourceRowsSuffix, kRejectedRowsSuffix};

bool exists(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

// If the path ends in one of `suffixes`, returns the path without this suffix. Otherwise returns
// "".
template <typename Suffixes>
std::string without_suffix(const std::string& path, const Suffixes& suffixes) {
  const auto* const found =
      std::find_if(suffixes.begin(), suffixes.end(),
                   [&path](std::string_view suffix) { return path.ends_with(suffix); });
  return found == suffixes.end() ? "" : path.substr(0, path.size() - found->size());
}

}  // namespace

bool has_manifest(const std::string& path) {
  return exists(fmt::format("{}{}", path, kManifestSuffix));
}

std::string matrix_of_manifest(const std::string& path) {
  return without_suffix(path, std::array{kManifestSuffix});
}

bool is_beside_matrix(const std::string& path) {
  const std::string matrix = without_suffix(path, kAfterTheName);
  if (!matrix.empty()) return exists(matrix) && has_manifest(matrix);
  const std::string stem = without_suffix(path, kInPlaceOfNpy);
  if (stem.empty()) return false;
  return has_manifest(stem) || has_manifest(fmt::format("{}{}", stem, kMatrixSuffix));
}

}  // namespace encode
