#include "model_dir/folder_chain.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <climits>

#include "encode/error.h"

#include "base/path_kind.h"

namespace encode {
namespace {

// A descriptor of this kind serves only as the start of other paths, so it needs no permission to
// list the folder.
constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMaxLinks = 40;  // as in the kernel

std::string read_link(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  target.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return target;
}

// Returns the path relative to `root`, or nullopt if the path does not begin with `root`.
std::optional<std::string> relative_to(const std::string& root, const std::string& path) {
  if (path == root) return "";
  if (!path.starts_with(root + "/")) return std::nullopt;
  return path.substr(root.size() + 1);
}

// Returns the part of an absolute target that is below the root, or nullopt. The target may name
// the root by a path with links. This function only splits the path; the walk then checks each
// name.
std::optional<std::string> below_root(const std::string& root, const std::string& target) {
  if (auto path = relative_to(root, target)) return path;
  char* const resolved = ::realpath(target.c_str(), nullptr);
  if (resolved == nullptr) return std::nullopt;
  const std::string real = resolved;
  std::free(resolved);  // NOLINT(cppcoreguidelines-no-malloc): realpath's contract
  return relative_to(root, real);
}

}  // namespace

// The state of one call of resolve().
class FolderChain::Walk {
 public:
  explicit Walk(FolderChain chain) : entry_{.folder = std::move(chain)} {}

  Entry run(std::string_view path) {
    push(path);
    while (!names_.empty()) {
      const std::string name = std::exchange(names_.back(), {});
      names_.pop_back();
      const Step step = take(name);
      if (step == Step::kStop) return std::move(entry_);
    }
    entry_.kind = Entry::Kind::kFound;
    entry_.mode = S_IFDIR;
    return std::move(entry_);
  }

 private:
  enum class Step { kGoOn, kStop };

  // Puts the names of a path before the remaining names.
  void push(std::string_view path) {
    while (!path.empty()) {
      const size_t slash = path.rfind('/');
      const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
      if (!name.empty() && name != ".") names_.emplace_back(name);
      path = slash == std::string_view::npos ? "" : path.substr(0, slash);
    }
  }

  Step stop(Entry::Kind kind, int error_number = 0) {
    entry_.kind = kind;
    entry_.error_number = error_number;
    return Step::kStop;
  }

  Step take(const std::string& name) {
    std::vector<std::shared_ptr<UniqueFd>>& folders = entry_.folder.folders_;
    if (name == "..") {
      if (folders.size() == 1) return stop(Entry::Kind::kOutside);
      folders.pop_back();
      return Step::kGoOn;
    }
    const int folder = folders.back()->get();
    struct stat info = {};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      const int error = errno;
      return means_absent(error) ? stop(Entry::Kind::kNothing) : stop(Entry::Kind::kFailed, error);
    }
    if (S_ISLNK(info.st_mode)) return follow(read_link(folder, name));
    if (S_ISDIR(info.st_mode)) {
      UniqueFd fd(::openat(folder, name.c_str(), kFolderFlags));
      if (!fd) return stop(Entry::Kind::kFailed, errno);
      folders.push_back(std::make_shared<UniqueFd>(std::move(fd)));
      return Step::kGoOn;
    }
    if (!names_.empty()) return stop(Entry::Kind::kNothing);  // the path goes on after a file
    entry_.mode = info.st_mode & S_IFMT;
    entry_.name = name;
    return stop(Entry::Kind::kFound);
  }

  Step follow(std::string target) {
    if (target.empty()) return stop(Entry::Kind::kFailed, EINVAL);  // the entry is no longer a link
    entry_.link = std::move(target);
    if (++links_ > kMaxLinks) return stop(Entry::Kind::kLinkLoop);
    if (!entry_.link.starts_with('/')) {
      push(entry_.link);
      return Step::kGoOn;
    }
    const std::optional<std::string> path = below_root(entry_.folder.root_, entry_.link);
    if (!path) return stop(Entry::Kind::kOutside);
    entry_.folder.folders_.resize(1);
    push(*path);
    return Step::kGoOn;
  }

  Entry entry_;
  std::vector<std::string> names_;  // the names that are left, the next one at the end
  int links_ = 0;
};

FolderChain::FolderChain(std::string root) : root_(std::move(root)) {
  UniqueFd fd(::open(root_.c_str(), kFolderFlags));
  if (!fd) throw system_error("model.open", "open the model directory", root_, errno);
  folders_.push_back(std::make_shared<UniqueFd>(std::move(fd)));
}

FolderChain::Entry FolderChain::resolve(std::string_view path) const {
  return Walk(*this).run(path);
}

}  // namespace encode
