#include "supervisor/stop_signal.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "encode/error.h"

namespace encode {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

std::atomic<int> requested = 0;
std::atomic<int> wake_fd = -1;
static_assert(std::atomic<int>::is_always_lock_free);

void restore_defaults() {
  for (const int number : kSignals) {
    struct sigaction current = {};
    ::sigaction(number, nullptr, &current);
    if (current.sa_handler != SIG_IGN)
      ::signal(number, SIG_DFL);  // NOLINT(bugprone-signal-handler)
  }
}

extern "C" void handle_signal(int number) {
  const int saved_errno = errno;
  requested = number;
  restore_defaults();
  const char byte = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(wake_fd, &byte, 1);
  errno = saved_errno;
}

}  // namespace

StopSignal::StopSignal() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw system_error("os.pipe", "create a pipe", "", errno);
  }
  read_end_ = UniqueFd(ends[0]);
  write_end_ = UniqueFd(ends[1]);
  requested = 0;
  wake_fd = write_end_.get();
  struct sigaction action = {};
  action.sa_handler = handle_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : kSignals) {
    struct sigaction current = {};
    ::sigaction(number, nullptr, &current);
    if (current.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
}

StopSignal::~StopSignal() {
  restore_defaults();
  wake_fd = -1;
}

int StopSignal::number() const { return requested; }

}  // namespace encode
