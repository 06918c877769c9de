#include "run_plan/output_guard.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/utf8.h"
#include "run_plan/cache_files.h"
#include "store/audit.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

constexpr ErrorCode kGuardCode = "output.protected";

[[noreturn]] void refuse_protected(const std::string& path, std::string found) {
  throw Error({.code = kGuardCode,
               .what = "this path cannot be an output",
               .where = path,
               .expected = "a path that nothing has, or a file that encode may replace",
               .found = std::move(found),
               .hint = "choose another path for the output"});
}

[[noreturn]] void refuse_existing(const std::string& path, std::string found, std::string hint) {
  throw Error({.code = "output.exists",
               .what = "a file exists that encode did not write for this purpose",
               .where = path,
               .expected = "a path that nothing has, or the result of an earlier run",
               .found = std::move(found),
               .hint = std::move(hint)});
}

constexpr const char* kOverwriteHint =
    "move the file away, choose another path, or replace the file with --overwrite";

// Refuses an output whose path cannot be examined, because it could not be written either.
[[noreturn]] void refuse_unknown(const std::string& path, int error_number) {
  ErrorDetail detail = system_error(kGuardCode, "look at", path, error_number).detail();
  if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kCantCreate;
  throw Error(std::move(detail));
}

// Returns false if nothing has the path. Does not follow a link.
bool look_at(const std::string& path, struct stat& info) {
  if (::lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  refuse_unknown(path, errno);
}

bool same_file(const struct stat& info, dev_t device, ino_t inode) {
  return info.st_dev == device && info.st_ino == inode;
}

// Returns the absolute path of the directory of `path`, without links.
fs::path real_directory(const std::string& path) {
  std::error_code failure;
  fs::path directory = fs::weakly_canonical(parent_directory(path), failure);
  if (failure) refuse_unknown(path, failure.value());
  return directory;
}

}  // namespace

void OutputGuard::protect(const std::string& path, const std::string& what) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return;
  files_.push_back({.device = info.st_dev, .inode = info.st_ino, .what = what});
}

void OutputGuard::protect(const ModelDirectory& model) {
  for (const ModelFile& file : model.files) protect(file.path, "a file of the model");
  protect_directory(model.path);
}

void OutputGuard::protect_directory(const std::string& path) {
  std::error_code ignored;  // a directory that is gone has no files to protect
  const fs::path directory = fs::canonical(path, ignored);
  if (!directory.empty()) model_directories_.push_back(directory.string() + "/");
}

OutputGuard::Kind OutputGuard::kind_of(const std::string& path) const {
  struct stat info = {};
  if (!look_at(path, info)) return Kind::kNothing;
  const bool link = S_ISLNK(info.st_mode);
  if (link && ::stat(path.c_str(), &info) != 0) refuse_protected(path, "a broken symbolic link");
  if (S_ISDIR(info.st_mode)) refuse_protected(path, "a directory");
  if (!S_ISREG(info.st_mode)) refuse_protected(path, "a device, FIFO or socket");
  for (const Protected& file : files_) {
    if (same_file(info, file.device, file.inode)) refuse_protected(path, file.what);
  }
  return link ? Kind::kLink : Kind::kFile;
}

// Throws Error if an existing file must never be replaced, or may only be replaced with
// `overwrite`.
void OutputGuard::refuse_foreign(const std::string& path, const std::string& found) const {
  if (kind_of(path) == Kind::kLink) refuse_protected(path, "a symbolic link");
  const fs::path directory = real_directory(path);
  if (is_store_file(directory.string(), fs::path(path).filename().string()))
    refuse_protected(path, "a file of a cache directory");
  for (const std::string& model : model_directories_) {
    if ((directory / "").string().starts_with(model))
      refuse_protected(path, "a file in the directory of the model");
  }
  if (!overwrite_) refuse_existing(path, found, kOverwriteHint);
}

void OutputGuard::check_final(const std::string& matrix_path) const {
  for (const std::string& path : final_files(matrix_path)) kind_of(path);
  const std::string foreign = foreign_final_file(matrix_path);
  if (foreign.empty()) return;
  refuse_foreign(foreign, foreign == matrix_path
                              ? "a file that is not a matrix of encode with its manifest"
                              : "a file beside the output that encode would replace");
}

void OutputGuard::check_log(const std::string& path) const {
  const Kind kind = kind_of(path);
  if (kind == Kind::kNothing) return;
  if (kind == Kind::kLink) refuse_protected(path, "a symbolic link");
  const std::string head = read_head(path, 64, "log.open");
  if (head.empty() || begins_like_log(head)) return;
  // After power loss a file of the cache directory may hold bytes that are not text.
  const bool of_cache =
      is_store_file(real_directory(path).string(), fs::path(path).filename().string());
  if (of_cache && !may_begin_text(head)) return;
  refuse_existing(path, "a file that does not begin with a line of a log",
                  "give another path, as --set log.file=PATH or log.file in the config");
}

void OutputGuard::check_beside(const std::string& path, bool foreign) const {
  if (kind_of(path) != Kind::kNothing && foreign)
    refuse_foreign(path, "a file beside the output that encode would replace");
}

void OutputGuard::check_new(const std::string& path) const {
  if (kind_of(path) != Kind::kNothing) refuse_foreign(path, "a file");
}

}  // namespace encode
