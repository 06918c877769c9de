#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <utility>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "model_dir/hub_cache.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

constexpr ErrorCode kOpenCode = "model.open";

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
                .where = fmt::format("model '{}'", preview(model, 200)),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = std::move(hint)});
}

Error file_given(const std::string& model) {
  const std::string folder = fs::path(model).parent_path().string();
  return not_found(model, "a directory, or a hub id", "a file",
                   fmt::format("give the directory that holds the model's files: --model {}",
                               preview(folder.empty() ? "." : folder, 200)));
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
        "no such directory, and not a hub id",
        "check the path; relative paths start at the current directory");
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
  throw not_found(model, fmt::format("one of these directories:\n{}", searched), "none of them",
                  fmt::format("download it once: encode pull {}{}", preview(full_id, 200),
                              revision ? "@" + preview(*revision) : ""));
}

}  // namespace encode
