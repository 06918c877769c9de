#include "run_plan/directory_probe.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include "base/creatable.h"
#include "base/file.h"
#include "base/system_call.h"
#include "base/temp_path.h"
#include "store/audit.h"
#include "store/run_files.h"

namespace encode {
namespace {

// A file that is deleted at the end of the scope. A run would sweep it as a temporary file of its
// job file.
class ProbeFile {
 public:
  explicit ProbeFile(const std::string& directory)
      : target_(RunFiles(directory).job(0)), path_(new_temp_path(target_)) {
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    fd_ = UniqueFd(retried([&] { return ::open(path_.c_str(), kFlags, 0666); }));
    if (fd_) return;
    ErrorDetail detail = system_error("io.create", "create a file", path_, errno).detail();
    if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kCantCreate;
    throw Error(std::move(detail));
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  ~ProbeFile() {
    if (fd_) ::unlink(path_.c_str());
  }

  void fill() const {
    constexpr size_t kBytes = size_t{8} << 10;  // more than a file system stores in an inode
    const std::string bytes(kBytes, '\x5a');
    write_all(fd_, bytes.data(), bytes.size(), path_);
    if (retried([&] { return ::fsync(fd_.get()); }) != 0)
      throw system_error("io.sync", "sync", path_, errno);
  }
  void rename() {
    const std::string other = new_temp_path(target_);
    if (retried([&] { return ::rename(path_.c_str(), other.c_str()); }) != 0)
      throw system_error("io.commit", "rename", path_, errno);
    path_ = other;
    sync_directory(parent_directory(path_));
  }
  void lock() const { check_locks(fd_, path_); }
  void remove() {
    remove_file(path_);
    fd_.close();
  }

 private:
  std::string target_;
  std::string path_;
  UniqueFd fd_;
};

}  // namespace

void probe_creation(const std::string& directory) {
  ProbeFile probe(directory);
  probe.lock();
  probe.remove();
}

void probe_once(const std::string& directory, std::set<std::string>& tried) {
  const std::string existing = first_existing_directory(directory);
  if (!tried.insert(existing).second) return;
  ProbeFile probe(existing);
  probe.fill();
  probe.rename();
  probe.remove();
}

}  // namespace encode
