#include "run_record/status_file.h"

#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/cgroup.h"
#include "base/file.h"
#include "base/host.h"
#include "base/system_call.h"

namespace encode {
namespace {

int64_t seconds_since_1970() { return static_cast<int64_t>(std::time(nullptr)); }

// Overwrites the file within the blocks that it has already, so that this succeeds on a full disk.
// Does nothing if `text` needs more space.
void overwrite_within_blocks(const std::string& path, const std::string& text) {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  constexpr int64_t kBlockBytes = 512;  // the unit of st_blocks
  const UniqueFd fd(retried([&] { return ::open(path.c_str(), kFlags); }));
  struct stat info = {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (info.st_blocks * kBlockBytes < std::ssize(text)) return;
  write_all(fd, text.data(), text.size(), path);
  if (::ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0) return;
}

}  // namespace

void StatusFile::write(Json status, bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (!at_once && now - written_ < std::chrono::seconds(1)) return;
  written_ = now;
  status["time"] = seconds_since_1970();
  replace(std::move(status));
}

void StatusFile::keep_earlier(const ErrorDetail* error, const RunCommand& command) {
  Json refusal;
  if (error != nullptr)
    refusal = {{"code", error->code.name()}, {"what", error->what}, {"where", error->where}};
  if (std::optional<Json> kept = earlier()) {
    if (error != nullptr) {
      refusal["time"] = seconds_since_1970();
      refusal["exit_code"] = static_cast<int>(error->exit_code);
      (*kept)["refused"] = std::move(refusal);
    }
    return replace(*std::move(kept));
  }
  const RunPhase end = error != nullptr ? RunPhase::kFailed : RunPhase::kStopped;
  Json status = {{"state", name_of(kRunPhases, end)}, {"command", to_json(command)}};
  if (error != nullptr) {
    status["error"] = std::move(refusal);
    status["exit_code"] = static_cast<int>(error->exit_code);
  }
  write(std::move(status), true);
}

// Returns what the file says about an earlier run; nullopt if it says nothing, or is damaged.
std::optional<Json> StatusFile::earlier() const {
  try {
    Json status = read_json_file(path_, kStatusFileLimits, "status.damaged");
    if (status.is_object() && status.contains("streams") && status.contains("time")) return status;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is replaced
  }
  return std::nullopt;
}

void StatusFile::replace(Json status) {
  status["pid"] = ::getpid();
  status["host"] = host_name();
  status["boot_id"] = boot_id();
  const auto now = std::chrono::steady_clock::now();
  status["monotonic_seconds"] = std::chrono::duration<double>(now.time_since_epoch()).count();
  const std::string text =
      status.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
  try {
    write_file_without_sync(path_, text);
    return;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the file only informs people
  }
  try {
    overwrite_within_blocks(path_, text);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): as above
  }
}

}  // namespace encode
