#include "base/stop_signal.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/system_call.h"

namespace encode {
namespace {

// Signals that come so soon after the first one belong to the same request.
constexpr int64_t kOneRequestNanoseconds = 500'000'000;

std::atomic<int> requested = 0;
std::atomic<int64_t> requested_at = 0;
std::atomic<int> wake_fd = -1;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t nanoseconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

extern "C" void end_at_once(int /*number*/) { ::_exit(static_cast<int>(ExitCode::kTempFail)); }

void handle(int number, void (*handler)(int)) {
  struct sigaction current = {};
  ::sigaction(number, nullptr, &current);
  if (current.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

void handle_all(void (*handler)(int)) {
  for (const int number : kStopSignals) handle(number, handler);
}

void restore_defaults() {
  for (const int number : kStopSignals)
    handle(number, asks_for_restart(number) ? end_at_once : SIG_DFL);
}

// The signal that is raised here is delivered when the handler has returned.
extern "C" void handle_later_signal(int number) {
  const int saved_errno = errno;
  if (nanoseconds() - requested_at > kOneRequestNanoseconds) {
    restore_defaults();
    ::raise(number);
  }
  errno = saved_errno;
}

extern "C" void handle_signal(int number) {
  const int saved_errno = errno;
  requested = number;
  requested_at = nanoseconds();
  handle_all(handle_later_signal);
  const char byte = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(wake_fd, &byte, 1);
  errno = saved_errno;
}

}  // namespace

bool asks_for_restart(int signal_number) {
  return std::find(kRestartSignals.begin(), kRestartSignals.end(), signal_number) !=
         kRestartSignals.end();
}

void end_at_once_if_asked_for_restart() {
  for (const int number : kRestartSignals) handle(number, end_at_once);
}

StopSignal::StopSignal() : pipe_(make_pipe(O_NONBLOCK)) {
  requested = 0;
  wake_fd = pipe_.write_end.get();
  handle_all(handle_signal);
  ::signal(SIGPIPE, SIG_IGN);
}

StopSignal::~StopSignal() {
  restore_defaults();
  wake_fd = -1;
}

int StopSignal::number() const { return requested; }

void end_now(int signal_number) {
  restore_defaults();
  ::kill(::getpid(), signal_number);
  while (true) ::pause();
}

StopListener::StopListener(const StopSignal& stop, std::function<void(int)> on_stop)
    : end_(make_pipe()) {
  try {
    thread_ = std::thread([this, &stop, on_stop = std::move(on_stop)] {
      std::array<pollfd, 2> pipes = {{{.fd = stop.fd(), .events = POLLIN, .revents = 0},
                                      {.fd = end_.read_end.get(), .events = POLLIN, .revents = 0}}};
      retried([&] { return ::poll(pipes.data(), pipes.size(), -1); });
      if (pipes[0].revents != 0) on_stop(stop.number());
    });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): see the header
  }
}

StopListener::~StopListener() {
  end_.write_end.close();  // the listener sees the end of the pipe
  if (thread_.joinable()) thread_.join();
}

}  // namespace encode
