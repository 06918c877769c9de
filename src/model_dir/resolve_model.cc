#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/file.h"
#include "base/model_files.h"
#include "base/named_path.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "model_dir/hub_cache.h"
#include "model_dir/sentence_modules.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

constexpr ErrorCode kOpenCode = "model.open";
constexpr size_t kShownBytesOfPath = 200;

std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path result = fs::canonical(path, error);
  if (error) throw system_error(kOpenCode, "resolve", path, error.value());
  return result.string();
}

// Returns the commit of a branch, tag or commit in one cached repository, or "" if the repository
// does not have it.
std::string commit_of(const std::string& repository, const std::string& revision) {
  if (is_commit(revision)) return revision;
  const std::string ref = fmt::format("{}/refs/{}", repository, revision);
  if (path_kind(ref, kOpenCode) != PathKind::kFile) return "";
  std::string commit = read_file(ref, 256, "model.not_found");
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
  return is_commit(commit) ? commit : "";
}

Error not_found(const std::string& model, std::string expected, std::string found,
                std::string hint) {
  return Error({.code = "model.not_found",
                .what = "there is no model of this name",
                .where = fmt::format("model '{}'", preview(model, kShownBytesOfPath)),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = std::move(hint)});
}

// Returns true if a directory has a file that every model directory has. A directory that cannot be
// read does not count as a model directory, because this only chooses the words of a hint.
bool is_model_directory(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / kConfigFile, error) ||
         fs::is_regular_file(directory / kModulesFile, error);
}

// Returns the path with "./" before a lone name, which could otherwise be taken for a hub id.
std::string as_path(const fs::path& path) {
  const std::string text = path.string();
  return preview(text.find('/') == std::string::npos ? "./" + text : text, kShownBytesOfPath);
}

Error file_given(const std::string& model) {
  const fs::path folder = fs::path(model).parent_path();
  std::string hint = "give the directory that holds the model's config.json and weights";
  if (is_model_directory(folder.empty() ? fs::path(".") : folder))
    hint += fmt::format(": --model {}", folder.empty() ? "." : as_path(folder));
  return not_found(model, "a directory, or a hub id", "a file", std::move(hint));
}

// Returns the model directory whose name is nearest to `model`, if `model` may be a typo of it:
// "./model" for "modle". Otherwise returns "".
std::string nearest_directory(const std::string& model) {
  const fs::path given = fs::path(model).lexically_normal();
  const fs::path path = given.has_filename() ? given : given.parent_path();
  const fs::path parent = path.parent_path();
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(parent.empty() ? fs::path(".") : parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_model_directory(entry->path())) names.push_back(entry->path().filename().string());
  }
  const std::string near = nearest(path.filename().string(), names.data(), names.size());
  return near.empty() ? "" : as_path(parent / near);
}

// Returns what was found at the path of a model that does not exist: a link to nothing, or
// otherwise `otherwise`.
std::string found_at(const std::string& model, const std::string& otherwise) {
  const std::string link = describe_dangling_link(model);
  return link.empty() ? otherwise : link;
}

std::string hint_of_typo(const std::string& model) {
  const std::string near = nearest_directory(model);
  return near.empty() ? "" : fmt::format("did you mean {}? Otherwise ", near);
}

}  // namespace

std::string resolve_model(const std::string& model, const std::optional<std::string>& revision) {
  const PathKind kind = path_kind(model, kOpenCode);
  if (kind == PathKind::kDirectory) {
    if (!revision) return resolved(model);
    throw Error({.code = "model.revision",
                 .what = "a revision belongs to a hub id, not to a directory",
                 .where = model,
                 .expected = "no revision",
                 .found = fmt::format("'{}'", preview(*revision)),
                 .hint = "leave the revision out, or give the hub id as the model"});
  }
  const size_t parts = split_path(model).size();
  const std::string ref = revision.value_or(kDefaultRevision);
  const bool is_file = kind != PathKind::kAbsent;
  if (parts > 2 || !is_safe_path(model) || !is_safe_path(ref)) {
    if (is_file) throw file_given(model);
    throw not_found(
        model,
        "a directory, or a hub id 'org/name' with a revision of letters, digits, '.', '_', '-'",
        found_at(model, "no such directory, and not a hub id"),
        hint_of_typo(model) + "check the path" + start_of_relative_path(model));
  }
  const std::string full_id = parts == 1 ? "sentence-transformers/" + model : model;
  std::vector<std::string> repositories = {hub_repository_folder(model)};
  if (parts == 1) repositories.push_back(hub_repository_folder(full_id));
  const std::string unknown_commit = fmt::format("<{}>", ref);
  std::string searched = fs::absolute(model).string();
  for (const std::string& name : hub_cache_folders()) {
    const fs::path cache = name;
    for (const std::string& repository : repositories) {
      const std::string commit = commit_of((cache / repository).string(), ref);
      const fs::path snapshot =
          cache / repository / "snapshots" / (commit.empty() ? unknown_commit : commit);
      if (!commit.empty() && path_kind(snapshot.string(), kOpenCode) == PathKind::kDirectory)
        return resolved(snapshot.string());
      searched.append("\n").append(snapshot.string());
    }
  }
  if (is_file) throw file_given(model);
  throw not_found(
      model, fmt::format("one of these directories:\n{}", searched),
      found_at(model, "none of them"),
      fmt::format("{}download it once: encode pull {}{}", hint_of_typo(model),
                  preview(full_id, kShownBytesOfPath), revision ? "@" + preview(*revision) : ""));
}

}  // namespace encode
