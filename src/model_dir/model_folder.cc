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

#include "base/lfs_pointer.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "model_dir/hub_cache.h"
#include "model_dir/limits.h"

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

// Returns the path with its links resolved, or "" if nothing has this name. Throws Error
// "model.open" if the path cannot be resolved for another reason.
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
  return "a device";
}

void require_regular(mode_t mode, const std::string& path) {
  if (S_ISREG(mode)) return;
  throw Error({.code = "model.not_a_file",
               .what = "not a regular file",
               .where = path,
               .expected = "a regular file",
               .found = kind_of(mode),
               .hint = "put the file itself into the model directory"});
}

Error unsafe_name(const std::string& name, const std::string& where) {
  return Error(
      {.code = "model.name",
       .what = "a model directory may not refer to this name",
       .where = where,
       .expected =
           "letters, digits, '.', '_', '-', starting with a letter or digit, at most 255 bytes",
       .found = fmt::format("'{}'", preview(name)),
       .hint = "model files must lie in the directory itself; do not use this model if you do not "
               "trust it"});
}

void require_safe_name(const std::string& name, const std::string& where) {
  if (!is_safe_name(name)) throw unsafe_name(name, where);
}

void require_safe_path(const std::string& path, const std::string& where) {
  if (!is_safe_path(path)) throw unsafe_name(path, where);
}

Error missing(const std::string& path, std::string hint) {
  return Error({.code = "model.missing",
                .what = "a file of the model is missing",
                .where = path,
                .expected = "a file",
                .found = "nothing under this name",
                .hint = std::move(hint)});
}

Error missing_folder(const std::string& path) {
  return Error(
      {.code = "model.missing",
       .what = "a folder of the model is missing",
       .where = path,
       .expected = "a folder, which modules.json names",
       .found = "nothing under this name",
       .hint = "the copy or download of the model may be incomplete: copy or download it again"});
}

Error bad_link(const std::string& path, const FolderChain::Entry& entry) {
  const bool loop = entry.kind == FolderChain::Entry::Kind::kLinkLoop;
  return Error(
      {.code = "model.symlink",
       .what = loop ? "symbolic links lead to each other"
                    : "a symbolic link leads out of the model directory",
       .where = path,
       .expected = fmt::format("a target below {}", entry.folder.root()),
       .found = fmt::format("a link to {}", preview(entry.link, 200)),
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
  std::string real = real_path(path);
  if (real.empty()) {
    throw Error({.code = "model.missing",
                 .what = "the model directory cannot be opened",
                 .where = path,
                 .expected = "a directory",
                 .found = "nothing under this name",
                 .hint = "check the path; relative paths start at the current directory"});
  }
  const std::string repository = cache_repository(real);
  FolderChain chain(repository.empty() ? real : repository);
  if (!repository.empty()) {
    FolderChain::Entry snapshot = chain.resolve(real.substr(repository.size() + 1));
    if (snapshot.kind != FolderChain::Entry::Kind::kFound || !S_ISDIR(snapshot.mode))
      throw open_error("open the model directory", real, snapshot.error_number);
    chain = std::move(snapshot.folder);
  }
  ModelFolder folder(std::move(chain), std::move(real));
  folder.opened_ = opened ? std::move(opened) : std::make_shared<OpenedFiles>(std::nullopt);
  return folder;
}

void ModelFolder::require_found(const FolderChain::Entry& entry, const std::string& name) const {
  using Kind = FolderChain::Entry::Kind;
  const std::string path = path_of(name);
  switch (entry.kind) {
    case Kind::kFound:
      return;
    case Kind::kOutside:
    case Kind::kLinkLoop:
      throw bad_link(path, entry);
    case Kind::kFailed:
      throw open_error("open", path, entry.error_number);
    case Kind::kNothing:
      break;
  }
  if (!entry.link.empty()) {
    ErrorDetail detail =
        missing(path, "the link points to nothing: the download is incomplete").detail();
    detail.found =
        fmt::format("a symbolic link to '{}', which does not exist", preview(entry.link, 200));
    throw Error(std::move(detail));
  }
  opened_->add_missing({.name = prefix_ + name, .path = path});
  throw missing(path, "the copy or download of the model may be incomplete");
}

ModelFolder ModelFolder::subfolder(const std::string& path) const {
  require_safe_path(path, path_);
  FolderChain::Entry entry = chain_.resolve(path);
  if (entry.kind == FolderChain::Entry::Kind::kNothing && entry.link.empty())
    throw missing_folder(path_of(path));
  require_found(entry, path);
  if (!S_ISDIR(entry.mode)) throw open_error("open", path_of(path), ENOTDIR);
  ModelFolder folder(std::move(entry.folder), path_of(path));
  folder.prefix_ = fmt::format("{}{}/", prefix_, path);
  folder.opened_ = opened_;
  return folder;
}

bool ModelFolder::has_folder(const std::string& path) const {
  require_safe_path(path, path_);
  return has_entry(path);
}

bool ModelFolder::has(const std::string& name) const {
  require_safe_name(name, path_);
  return has_entry(name);
}

bool ModelFolder::has_entry(const std::string& path) const {
  if (const std::optional<bool> known = opened_->has(prefix_ + path)) return *known;
  const FolderChain::Entry entry = chain_.resolve(path);
  if (entry.kind == FolderChain::Entry::Kind::kFailed)
    throw open_error("look for", path_of(path), entry.error_number);
  return entry.kind != FolderChain::Entry::Kind::kNothing || !entry.link.empty();
}

UniqueFd ModelFolder::open_file(const std::string& name) const {
  require_safe_name(name, path_);
  const std::string path = path_of(name);
  const FolderChain::Entry entry = chain_.resolve(name);
  require_found(entry, name);
  // The check comes before open(), because opening a device can have side effects.
  require_regular(entry.mode, path);
  UniqueFd fd(::openat(entry.folder.fd(), entry.name.c_str(), kOpenFlags));
  if (!fd) throw open_error("open", path, errno);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) throw open_error("look at", path, errno);
  require_regular(info.st_mode, path);
  opened_->add({.name = prefix_ + name, .path = path, .bytes = info.st_size});
  return fd;
}

const UniqueFd& ModelFolder::open_weights(const std::string& name) const {
  return opened_->keep(prefix_ + name, open_file(name));
}

std::string ModelFolder::read_text(const std::string& name, int64_t max_bytes,
                                   ErrorCode code) const {
  const UniqueFd fd = open_file(name);
  const int64_t size = file_size(fd, path_of(name));
  if (size > max_bytes) {
    throw Error({.code = code,
                 .what = "the file is too large",
                 .where = path_of(name),
                 .expected = fmt::format("at most {} bytes", max_bytes),
                 .found = fmt::format("{} bytes", size),
                 .hint = "check that this is the file you meant"});
  }
  std::string text(static_cast<size_t>(size), '\0');
  pread_all(fd, text, 0, path_of(name));
  opened_->check_content(prefix_ + name, text);
  if (is_lfs_pointer(text)) {
    throw Error({.code = code,
                 .what = "the file is a Git LFS pointer",
                 .where = path_of(name),
                 .expected = "the content of the file",
                 .found = std::string(kLfsFound),
                 .hint = std::string(kLfsHint)});
  }
  return text;
}

Json ModelFolder::read_json(const std::string& name, const JsonLimits& limits,
                            ErrorCode code) const {
  return parse_json(read_text(name, limits.max_bytes, code), limits, path_of(name), code);
}

std::vector<std::string> ModelFolder::list() const {
  std::vector<std::string> names;
  // Opens the directory again, so that calls do not share the position of readdir().
  const int fd = ::openat(chain_.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
