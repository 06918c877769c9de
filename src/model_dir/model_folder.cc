#include "model_dir/model_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/path_kind.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/refusal.h"

namespace encode {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr size_t kMaxNameBytes = 255;

Error open_error(std::string_view action, const std::string& path, int error_number) {
  return system_error("model.open", action, path, error_number);
}

bool is_alphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Returns "" if there is nothing of this name. Throws Error "model.open" if the path cannot be
// resolved for another reason.
std::string real_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) {
    if (means_absent(errno)) return "";
    throw open_error("resolve", path, errno);
  }
  std::string result = resolved;
  std::free(resolved);  // NOLINT(cppcoreguidelines-no-malloc): realpath's contract
  return result;
}

// Returns <cache>/models--org--name if `path` is a snapshot in the Hugging Face cache, else "".
std::string cache_repository(const std::string& path) {
  const std::filesystem::path snapshots = std::filesystem::path(path).parent_path();
  const std::filesystem::path repository = snapshots.parent_path();
  const bool in_cache = snapshots.filename() == "snapshots" &&
                        repository.filename().string().rfind("models--", 0) == 0;
  return in_cache ? repository.string() : "";
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "a device";
}

void require_regular(mode_t mode, const std::string& path) {
  if (S_ISREG(mode)) return;
  throw refusal({.code = "model.not_a_file",
                 .what = "not a regular file",
                 .where = path,
                 .expected = "a regular file",
                 .found = kind_of(mode),
                 .hint = "put the file itself into the model directory",
                 .exit_code = ExitCode::kNoInput});
}

void require_safe_name(const std::string& name, const std::string& where) {
  if (is_safe_name(name)) return;
  throw refusal(
      {.code = "model.name",
       .what = "a model directory may not refer to this name",
       .where = where,
       .expected =
           "letters, digits, '.', '_', '-', starting with a letter or digit, at most 255 bytes",
       .found = fmt::format("'{}'", preview(name)),
       .hint = "model files must lie in the directory itself; do not use this model if you do not "
               "trust it"});
}

Error missing(const std::string& path, std::string hint) {
  return refusal({.code = "model.missing",
                  .what = "a file of the model is missing",
                  .where = path,
                  .expected = "a file",
                  .found = "nothing under this name",
                  .hint = std::move(hint),
                  .exit_code = ExitCode::kNoInput});
}

Error bad_link(const std::string& path, const std::string& target, const std::string& allowed) {
  return refusal(
      {.code = "model.symlink",
       .what = "a symbolic link leads out of the model directory",
       .where = path,
       .expected = allowed.empty() ? "a regular file" : fmt::format("a target below {}", allowed),
       .found =
           target.empty() ? "a symbolic link" : fmt::format("a link to {}", preview(target, 200)),
       .hint =
           "copy the file into the directory, or pass the directory that holds the real files"});
}

}  // namespace

bool is_safe_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || !is_alphanumeric(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

ModelFolder ModelFolder::open(const std::string& path, std::shared_ptr<OpenedFiles> opened) {
  ModelFolder folder;
  folder.path_ = real_path(path);
  if (folder.path_.empty()) {
    throw refusal({.code = "model.missing",
                   .what = "the model directory cannot be opened",
                   .where = path,
                   .expected = "a directory",
                   .found = "nothing under this name",
                   .hint = "check the path; relative paths start at the current directory",
                   .exit_code = ExitCode::kNoInput});
  }
  folder.fd_ =
      std::make_shared<UniqueFd>(::open(folder.path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!*folder.fd_) throw open_error("open the model directory", path, errno);
  folder.link_root_ = cache_repository(folder.path_);
  folder.opened_ = opened ? std::move(opened) : std::make_shared<OpenedFiles>(std::nullopt);
  return folder;
}

ModelFolder ModelFolder::subfolder(const std::string& name) const {
  require_safe_name(name, path_);
  ModelFolder folder;
  folder.path_ = path_of(name);
  folder.fd_ =
      std::make_shared<UniqueFd>(::openat(fd_->get(), name.c_str(), kOpenFlags | O_DIRECTORY));
  if (!*folder.fd_) {
    const int error = errno;
    struct stat info = {};
    if (::fstatat(fd_->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(info.st_mode)) {
      throw bad_link(folder.path_, "", "");
    }
    if (means_absent(error)) throw missing(folder.path_, "modules.json names this folder");
    throw open_error("open", folder.path_, error);
  }
  folder.prefix_ = fmt::format("{}{}/", prefix_, name);
  folder.link_root_ = link_root_;
  folder.opened_ = opened_;
  return folder;
}

bool ModelFolder::has(const std::string& name) const {
  require_safe_name(name, path_);
  if (const std::optional<bool> known = opened_->has(prefix_ + name)) return *known;
  struct stat info = {};
  if (::fstatat(fd_->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (means_absent(errno)) return false;
  throw open_error("look for", path_of(name), errno);
}

UniqueFd ModelFolder::open_link(const std::string& name) const {
  const std::string path = path_of(name);
  if (link_root_.empty()) throw bad_link(path, "", "");
  const std::string target = real_path(path);
  if (target.empty()) throw missing(path, "the link points to nothing: the download is incomplete");
  if (target.rfind(link_root_ + "/", 0) != 0) throw bad_link(path, target, link_root_);
  UniqueFd fd(::open(target.c_str(), kOpenFlags));
  if (!fd) throw open_error("open", path, errno);
  return fd;
}

UniqueFd ModelFolder::open_file(const std::string& name) const {
  require_safe_name(name, path_);
  const std::string path = path_of(name);
  struct stat info = {};
  if (::fstatat(fd_->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (means_absent(errno)) {
      opened_->add_missing({.name = prefix_ + name, .path = path});
      throw missing(path, "the copy or download of the model may be incomplete");
    }
    throw open_error("look for", path, errno);
  }
  const bool link = S_ISLNK(info.st_mode);
  // The check comes before open(), because opening a device can have side effects.
  if (!link) require_regular(info.st_mode, path);
  UniqueFd fd = link ? open_link(name) : UniqueFd(::openat(fd_->get(), name.c_str(), kOpenFlags));
  if (!fd) throw open_error("open", path, errno);
  if (::fstat(fd.get(), &info) != 0) throw open_error("look at", path, errno);
  require_regular(info.st_mode, path);
  opened_->add({.name = prefix_ + name, .path = path, .bytes = info.st_size});
  return fd;
}

const UniqueFd& ModelFolder::open_weights(const std::string& name) const {
  return opened_->keep(prefix_ + name, open_file(name));
}

std::string ModelFolder::read_text(const std::string& name, int64_t max_bytes,
                                   std::string_view code) const {
  const UniqueFd fd = open_file(name);
  const int64_t size = file_size(fd, path_of(name));
  if (size > max_bytes) {
    throw refusal({.code = std::string(code),
                   .what = "the file is too large",
                   .where = path_of(name),
                   .expected = fmt::format("at most {} bytes", max_bytes),
                   .found = fmt::format("{} bytes", size),
                   .hint = "check that this is the file you meant"});
  }
  std::string text(static_cast<size_t>(size), '\0');
  pread_all(fd, text, 0, path_of(name));
  opened_->check_content(prefix_ + name, text);
  return text;
}

Json ModelFolder::read_json(const std::string& name, const JsonLimits& limits,
                            std::string_view code) const {
  return parse_json(read_text(name, limits.max_bytes, code), limits, path_of(name), code);
}

std::vector<std::string> ModelFolder::list() const {
  std::vector<std::string> names;
  // Opens the directory again, so that calls do not share the position of readdir().
  const int fd = ::openat(fd_->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    throw open_error("list", path_, error);
  }
  int error = 0;
  while (static_cast<int64_t>(names.size()) < kMaxFolderEntries) {
    errno = 0;
    const dirent* entry = ::readdir(dir);
    if (entry == nullptr) {
      error = errno;  // 0 at the end of the directory
      break;
    }
    names.emplace_back(entry->d_name);
  }
  ::closedir(dir);
  if (error != 0) throw open_error("list", path_, error);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace encode
