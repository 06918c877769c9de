#include "model_dir/opened_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/hash.h"
#include "model_dir/file_key.h"

namespace encode {

Error model_changed(const std::string& path, const FileHash& expected, std::string found) {
  return Error({.code = "model.changed",
                .what = "a file of the model is not the one that was hashed when the run began",
                .where = path,
                .expected = expected.sha256.empty() ? "no file of this name"
                                                    : fmt::format("{} bytes with the SHA-256 {}",
                                                                  expected.bytes, expected.sha256),
                .found = std::move(found),
                .hint = "do not change a model during a run. Put the old file back to go on, or "
                        "start over with --fresh"});
}

OpenedFiles::OpenedFiles(std::optional<std::vector<FileHash>> expected) {
  if (!expected) return;
  expected_.emplace();
  for (FileHash& file : *expected) {
    const std::string name = file.name;
    expected_->emplace(name, std::move(file));
  }
}

std::optional<bool> OpenedFiles::has(const std::string& name) const {
  if (!expected_) return std::nullopt;
  const auto folder = expected_->lower_bound(name + "/");
  return expected_->contains(name) ||
         (folder != expected_->end() && folder->first.starts_with(name + "/"));
}

const FileHash& OpenedFiles::expected(const ModelFile& file) const {
  const auto found = expected_->find(file.name);
  if (found != expected_->end()) return found->second;
  throw model_changed(file.path, {}, "a file");
}

void OpenedFiles::add(const ModelFile& file) {
  if (expected_ && expected(file).bytes != file.bytes)
    throw model_changed(file.path, expected(file), fmt::format("{} bytes", file.bytes));
  files_[file.name] = file;
}

void OpenedFiles::add_missing(const ModelFile& file) const {
  if (expected_ && expected_->contains(file.name))
    throw model_changed(file.path, expected(file), "nothing under this name");
}

void OpenedFiles::check_content(const std::string& name, std::string_view content) const {
  if (!expected_) return;
  const ModelFile& file = files_.at(name);
  const FileHash& wanted = expected(file);
  const std::string found = sha256_hex(content);
  if (found != wanted.sha256)
    throw model_changed(file.path, wanted, fmt::format("the SHA-256 {}", found));
}

const UniqueFd& OpenedFiles::keep(const std::string& name, UniqueFd fd) {
  Weights& weights = weights_[name];
  weights = {.path = files_.at(name).path, .fd = std::move(fd), .proven = std::nullopt};
  check(name, weights);
  return weights.fd;
}

std::vector<FileKey> OpenedFiles::check_weights() {
  std::vector<FileKey> keys;
  for (auto& [name, weights] : weights_) keys.push_back(check(name, weights));
  return keys;
}

FileKey OpenedFiles::check(const std::string& name, Weights& weights) const {
  const FileKey key = key_of(weights.fd, weights.path);
  if (!expected_ || weights.proven == key) return key;
  const FileHash& wanted = expected(files_.at(name));
  if (wanted.settled_key == key) {
    weights.proven = key;
    return key;
  }
  if (key.size != wanted.bytes)
    throw model_changed(weights.path, wanted, fmt::format("{} bytes", key.size));
  const bool settled = is_settled(key, kMinAgeNs);
  const std::string found = sha256_of(weights.fd, weights.path);
  if (found != wanted.sha256)
    throw model_changed(weights.path, wanted, fmt::format("the SHA-256 {}", found));
  // A younger file could change once more and keep its key, so the next check hashes it again.
  if (settled && key_of(weights.fd, weights.path) == key) weights.proven = key;
  return key;
}

const UniqueFd& OpenedFiles::weights(const std::string& path) const {
  const auto found = std::find_if(weights_.begin(), weights_.end(),
                                  [&](const auto& entry) { return entry.second.path == path; });
  if (found != weights_.end()) return found->second.fd;
  throw model_changed(path, {}, "tensors that belong to this file");
}

std::vector<ModelFile> OpenedFiles::files() const {
  std::vector<ModelFile> files;
  files.reserve(files_.size());
  for (const auto& [name, file] : files_) files.push_back(file);
  return files;
}

}  // namespace encode
