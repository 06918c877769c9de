#include "run_record/status_file.h"

#include <ctime>
#include <unistd.h>
#include <utility>

#include "base/cgroup.h"
#include "base/file.h"
#include "base/host.h"

namespace encode {
namespace {

int64_t seconds_since_1970() { return static_cast<int64_t>(std::time(nullptr)); }

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
  Json status = {{"state", error != nullptr ? "failed" : "stopped"}, {"command", to_json(command)}};
  if (error != nullptr) {
    status["error"] = std::move(refusal);
    status["exit_code"] = static_cast<int>(error->exit_code);
  }
  write(std::move(status), true);
}

// What the file says about an earlier run; nullopt if it says nothing, or is damaged.
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
  try {
    write_file_without_sync(
        path_, status.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the file only informs people
  }
}

}  // namespace encode
