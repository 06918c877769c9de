// Reads the plan from the environment, for a program that loads the library with LD_PRELOAD.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fault.h"

namespace encode::testing {
namespace {

FaultMode mode_named(std::string_view name) {
  if (name == "kill_before") return FaultMode::kKillBefore;
  if (name == "kill_after") return FaultMode::kKillAfter;
  if (name == "errno") return FaultMode::kErrno;
  if (name == "short_write") return FaultMode::kShortWrite;
  if (name == "drop_file_sync") return FaultMode::kDropFileSync;
  if (name == "drop_dir_sync") return FaultMode::kDropDirSync;
  if (name == "drop_lock") return FaultMode::kDropLock;
  if (name == "drop_data_sync") return FaultMode::kDropDataSync;
  if (name == "delay") return FaultMode::kDelay;
  if (name == "stop_before") return FaultMode::kStopBefore;
  return FaultMode::kNone;
}

__attribute__((constructor)) void read_environment() {
  const char* root = std::getenv("FAULT_ROOT");
  const char* mode = std::getenv("FAULT_MODE");
  if (root == nullptr) return;
  const auto number = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? 0 : std::strtol(value, nullptr, 0);
  };
  const char* program = std::getenv("FAULT_PROGRAM");
  const bool named =
      program == nullptr || program == std::string_view(program_invocation_short_name);
  FaultPlan from_environment = {.mode =
                                    mode != nullptr && named ? mode_named(mode) : FaultMode::kNone};
  std::strncpy(from_environment.root, root, sizeof from_environment.root - 1);
  if (const char* call = std::getenv("FAULT_CALL"); call != nullptr) {
    std::strncpy(from_environment.call, call, sizeof from_environment.call - 1);
  }
  from_environment.at = number("FAULT_AT");
  from_environment.persistent = number("FAULT_PERSISTENT") != 0;
  from_environment.error = static_cast<int>(number("FAULT_ERRNO"));
  from_environment.lock_may_go = number("FAULT_LOCK_MAY_GO") != 0;
  from_environment.drop_locks = number("FAULT_DROP_LOCKS") != 0;
  from_environment.file_system = number("FAULT_FILE_SYSTEM");
  set_fault_plan(from_environment);
}

}  // namespace
}  // namespace encode::testing
