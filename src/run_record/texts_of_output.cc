#include "run_record/texts_of_output.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/path_kind.h"
#include "store/file_list.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

struct Inputs {
  std::vector<std::string> paths = {};  // as the manifest or the list of files names them
  std::vector<int64_t> sizes = {};
};

Inputs inputs_of(const RunOfOutput& run, const StreamIdentity& identity) {
  Inputs inputs;
  if (identity.input_list) {
    for (const ScannedFile& file : read_list_of_matrix(*identity.input_list, run.output)) {
      inputs.paths.push_back(file.path);
      inputs.sizes.push_back(file.bytes);
    }
    return inputs;
  }
  for (const InputPart& part : identity.inputs) inputs.paths.push_back(part.path);
  inputs.sizes = input_sizes(identity.fingerprint);
  return inputs;
}

// Returns the folders at which relative paths may begin, "" for the current directory.
std::vector<std::string> places_of(const RunOfOutput& run, const Inputs& inputs) {
  std::vector<std::string> places = {""};
  const auto is_relative = [](const std::string& path) { return !path.starts_with('/'); };
  if (std::none_of(inputs.paths.begin(), inputs.paths.end(), is_relative)) return places;
  for (const std::string& place : {run.directory, parent_directory(run.output)}) {
    std::error_code unknown;
    const auto is_same = [&](const std::string& other) {
      return fs::equivalent(other.empty() ? "." : other, place, unknown);
    };
    if (!place.empty() && std::none_of(places.begin(), places.end(), is_same))
      places.push_back(place);
  }
  return places;
}

std::string path_at(const std::string& place, const std::string& path) {
  return place.empty() || path.starts_with('/') ? path : (fs::path(place) / path).string();
}

bool have_sizes(const std::vector<std::string>& paths, const std::vector<int64_t>& sizes) {
  std::error_code unknown;
  return std::equal(paths.begin(), paths.end(), sizes.begin(), sizes.end(),
                    [&](const std::string& path, int64_t bytes) {
                      return static_cast<int64_t>(fs::file_size(path, unknown)) == bytes;
                    });
}

}  // namespace

TextsOfOutput texts_of_output(const RunOfOutput& run, const StreamIdentity& identity) {
  const Inputs inputs = inputs_of(run, identity);
  const std::vector<std::string> places = places_of(run, inputs);
  TextsOfOutput texts;
  for (const std::string& place : places) {
    std::vector<std::string> paths;
    for (const std::string& path : inputs.paths) {
      paths.push_back(path_at(place, path));
      if (path_exists(paths.back(), "text.open")) continue;
      if (texts.missing.empty()) texts.missing = path;
      paths.clear();
      break;
    }
    if (paths.empty()) continue;
    const bool fit = have_sizes(paths, inputs.sizes);
    if (fit || texts.paths.empty()) texts.paths = std::move(paths);
    if (fit) break;
  }
  if (!texts.paths.empty() || inputs.paths.empty()) {
    texts.missing.clear();
  } else if (!texts.missing.starts_with('/')) {
    for (const std::string& place : places)
      texts.searched.push_back(place.empty() ? fs::current_path().string() : place);
  }
  return texts;
}

}  // namespace encode
