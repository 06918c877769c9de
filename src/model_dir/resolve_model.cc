#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <utility>

#include "encode/model_directory.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "model_dir/model_folder.h"
#include "model_dir/refusal.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOpenCode = "model.open";

std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path result = fs::canonical(path, error);
  if (error) throw system_error(kOpenCode, "resolve", path, error.value());
  return result.string();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t slash = 0; slash != std::string::npos; begin = slash + 1) {
    slash = text.find('/', begin);
    parts.push_back(text.substr(begin, slash == std::string::npos ? slash : slash - begin));
  }
  return parts;
}

bool all_safe(const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), is_safe_name);
}

// Returns the directories in which huggingface_hub keeps downloads, in its order of precedence.
std::vector<std::string> cache_directories() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::vector<std::string> directories;
  const auto add = [&directories](const std::string& root, const char* below) {
    if (root.empty()) return;
    std::string path = root + below;
    if (std::find(directories.begin(), directories.end(), path) == directories.end()) {
      directories.push_back(std::move(path));
    }
  };
  add(variable("HF_HUB_CACHE"), "");
  add(variable("HUGGINGFACE_HUB_CACHE"), "");
  add(variable("HF_HOME"), "/hub");
  add(variable("XDG_CACHE_HOME"), "/huggingface/hub");
  add(variable("HOME"), "/.cache/huggingface/hub");
  return directories;
}

bool is_commit(const std::string& revision) {
  return revision.size() == 40 &&
         revision.find_first_not_of("0123456789abcdef") == std::string::npos;
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
  return refusal({.code = "model.not_found",
                  .what = "there is no model of this name",
                  .where = fmt::format("model '{}'", preview(model, 200)),
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .hint = std::move(hint),
                  .exit_code = ExitCode::kNoInput});
}

}  // namespace

std::string resolve_model(const std::string& model, const std::optional<std::string>& revision) {
  const PathKind kind = path_kind(model, kOpenCode);
  if (kind == PathKind::kDirectory) {
    if (!revision) return resolved(model);
    throw refusal({.code = "model.revision",
                   .what = "a revision belongs to a hub id, not to a directory",
                   .where = model,
                   .expected = "no revision",
                   .found = fmt::format("'{}'", preview(*revision)),
                   .hint = "leave the revision out, or give the hub id as the model"});
  }
  const std::vector<std::string> id = split(model);
  const std::string ref = revision.value_or("main");
  if (id.size() > 2 || !all_safe(id) || !all_safe(split(ref))) {
    throw not_found(
        model,
        "a directory, or a hub id 'org/name' with a revision of letters, digits, '.', '_', '-'",
        kind != PathKind::kAbsent ? "a file" : "no such directory, and not a hub id",
        "check the path; relative paths start at the current directory");
  }
  std::vector<std::string> repositories = {fmt::format("models--{}", fmt::join(id, "--"))};
  if (id.size() == 1)
    repositories.push_back(fmt::format("models--sentence-transformers--{}", id[0]));
  const std::string unknown_commit = fmt::format("<{}>", ref);
  std::string searched = fs::absolute(model).string();
  for (const std::string& name : cache_directories()) {
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
  throw not_found(
      model, fmt::format("one of these directories:\n{}", searched), "none of them",
      fmt::format("encode does not download models; download it once with: hf download {}",
                  preview(model)));
}

}  // namespace encode
