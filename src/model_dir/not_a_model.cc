#include "model_dir/not_a_model.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/model_files.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "model_dir/sentence_modules.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

constexpr int kMostEntries = 1000;

bool is_of_weights(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".bin") || name.ends_with(".index.json");
}

// Appends the folders below `folder` that hold a model, down to `depth` levels. What cannot be read
// is passed over, because this only chooses the words of a message.
void add_models(const fs::path& folder, int depth, std::vector<std::string>& models) {
  std::vector<fs::path> others;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (int i = 0; !failure && entry != fs::directory_iterator() && i < kMostEntries; ++i) {
    std::error_code unknown;
    const fs::path path = entry->path();
    if (fs::exists(path / kConfigFile, unknown) || fs::exists(path / kModulesFile, unknown)) {
      models.push_back(path.string());
    } else if (entry->is_directory(unknown)) {
      others.push_back(path);
    }
    entry.increment(failure);
  }
  if (depth == 1) return;
  for (const fs::path& other : others) add_models(other, depth - 1, models);
}

}  // namespace

void require_model(const ModelFolder& folder) {
  if (folder.has(kModulesFile) || folder.has(kConfigFile)) return;
  const std::vector<std::string> names = folder.list();
  if (std::any_of(names.begin(), names.end(), is_of_weights)) return;
  constexpr int kLevels = 2;  // of folders such as org/name
  constexpr size_t kMostShown = 5;
  std::vector<std::string> models;
  add_models(folder.path(), kLevels, models);
  std::sort(models.begin(), models.end());
  const size_t shown = std::min(models.size(), kMostShown);
  ErrorDetail detail = {
      .code = "model.missing",
      .what = "the folder holds no model",
      .where = folder.path(),
      .expected = fmt::format("a folder with {} and weights", kConfigFile),
      .found = fmt::format("no {}", kConfigFile),
      .hint = "give the directory that holds the model's config.json and weights"};
  constexpr size_t kDots = 2;  // "." and ".."
  if (names.size() <= kDots) detail.found = "an empty folder";
  if (!models.empty()) {
    detail.found +=
        fmt::format(", but {} below it: {}{}", format_count(std::ssize(models), "model", "models"),
                    fmt::join(models.begin(), models.begin() + shown, ", "),
                    shown < models.size() ? ", ..." : "");
    detail.hint =
        fmt::format("name one of them, as in {}", shell_command({"--model", models.front()}));
  }
  throw Error(std::move(detail));
}

}  // namespace encode
