#include "run_environment.h"

#include <csignal>
#include <cstdlib>
#include <string>

#include "encode/error.h"

#include "base/environment.h"
#include "supervisor/stop_signal.h"

namespace encode {
namespace {

std::string worker_program() {
  const std::string chosen = environment_variable("ENCODE_WORKER");
  return chosen.empty() ? program_folder() + "/encode-worker" : chosen;
}

}  // namespace

RunEnvironment run_environment() {
  RunEnvironment environment;
  environment.worker.program = worker_program();
  environment.version = ENCODE_VERSION;
  // The worker uses OpenMP threads only to load weights. PASSIVE makes idle threads sleep. By
  // default they would use the processor for a while after each loop.
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
  return environment;
}

int end_by_signal(int number) {
  if (asks_for_restart(number)) return static_cast<int>(ExitCode::kTempFail);
  constexpr int kShellOffset = 128;
  std::signal(number, SIG_DFL);
  std::raise(number);
  return kShellOffset + number;
}

}  // namespace encode
