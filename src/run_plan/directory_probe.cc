#include "run_plan/directory_probe.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "base/creatable.h"
#include "base/file.h"
#include "base/system_call.h"
#include "base/temp_path.h"
#include "base/units.h"
#include "run_plan/memory/disk_space.h"
#include "store/audit.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr size_t kProbeBytes = size_t{8} << 10;  // more than a file system stores in an inode

// A file that is deleted at the end of the scope. If the process is killed first, the next run
// deletes it, because it has the name of a temporary file of job.json.
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
    const std::string bytes(kProbeBytes, '\x5a');
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

bool is_full(const DiskSpace& space) {
  return space.usable_bytes < static_cast<int64_t>(kProbeBytes);
}

// Returns the error in the words of a user, who knows the directory and not the temporary file.
Error naming_directory(const Error& error, const std::string& directory) {
  ErrorDetail detail = error.detail();
  detail.where = directory;
  if (detail.exit_code == exit_code_for_errno(ENOSPC)) {
    if (const DiskSpace space = disk_space_at(directory); is_full(space)) {
      return Error({.code = "limit.disk",
                    .what = "the disk is full, so this run cannot write to the directory",
                    .where = directory,
                    .expected = "space for the chunks, the matrices and the records of the run",
                    .found = format_bytes(space.usable_bytes) + " free",
                    .hint = "free some space, then run the same command again: it continues after "
                            "the last committed chunk"});
    }
  }
  if (detail.code != "io.create") detail.what = "cannot use this directory: " + detail.what;
  return Error(std::move(detail));
}

// Calls `steps` with a new file in the directory, which must exist.
template <typename Steps>
void probe(const std::string& directory, const Steps& steps) {
  try {
    ProbeFile file(directory);
    steps(file);
  } catch (const Error& error) {
    throw naming_directory(error, directory);
  }
}

}  // namespace

void probe_creation(const std::string& directory) {
  probe(directory, [](ProbeFile& file) {
    file.lock();
    file.remove();
  });
}

void probe_once(const std::string& directory, std::set<std::string>& tried) {
  const std::string existing = first_existing_directory(directory);
  if (!tried.insert(existing).second) return;
  probe(existing, [](ProbeFile& file) {
    file.fill();
    file.rename();
    file.remove();
  });
}

}  // namespace encode
