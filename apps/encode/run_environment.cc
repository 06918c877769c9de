#include <csignal>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "base/environment.h"
#include "base/stop_signal.h"
#include "command.h"

namespace encode {
namespace {

// A build has encode-worker beside encode. An installation has it in the private folder.
std::string worker_program() {
  std::string chosen = environment_variable("ENCODE_WORKER");
  if (!chosen.empty()) return chosen;
  const std::string folder = program_folder();
  const std::string installed = folder + "/" + kPrivateFolder + "/encode-worker";
  return ::access(installed.c_str(), X_OK) == 0 ? installed : folder + "/encode-worker";
}

// The loader of encode-worker looks for LibTorch in TORCH_ROOT before it looks at its own paths.
void offer_torch_root() {
  const std::string root = environment_variable("TORCH_ROOT");
  if (root.empty()) return;
  const std::string others = environment_variable("LD_LIBRARY_PATH");
  const std::string folders = root + "/lib" + (others.empty() ? "" : ":" + others);
  ::setenv("LD_LIBRARY_PATH", folders.c_str(), /*overwrite=*/1);
}

}  // namespace

RunEnvironment run_environment() {
  RunEnvironment environment;
  environment.worker.program = worker_program();
  environment.version = ENCODE_VERSION;
  offer_torch_root();
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
