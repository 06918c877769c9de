#include "supervisor/report/status_file.h"

#include <ctime>
#include <fstream>
#include <unistd.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/host.h"

namespace encode {
namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

void StatusFile::write(Json status, bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (!at_once && now - written_ < std::chrono::seconds(1)) return;
  written_ = now;
  status["pid"] = ::getpid();
  status["host"] = host_name();
  status["boot_id"] = boot_id();
  status["monotonic_seconds"] = std::chrono::duration<double>(now.time_since_epoch()).count();
  status["time"] = static_cast<int64_t>(std::time(nullptr));
  try {
    write_file_without_sync(
        path_, status.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the file only informs people
  }
}

}  // namespace encode
