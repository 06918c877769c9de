#include "supervisor/worker/child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/stop_signal.h"
#include "base/system_call.h"

namespace encode {
namespace {

void set_non_blocking(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// What become_worker() needs. The parent prepares everything that needs memory, because only
// async-signal-safe calls are allowed between fork and exec in a process with threads.
struct ChildPlan {
  char* const* argv = nullptr;
  pid_t parent = 0;
  int events_fd = -1;
  int output_fd = -1;
  int inherit_fd = -1;
  int error_fd = -1;  // receives errno if exec fails
};

[[noreturn]] void become_worker(const ChildPlan& plan) {
  constexpr int kCannotExec = 127;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(kCannotExec);  // the parent died too early for prctl()
  const int null_fd = ::open("/dev/null", O_RDONLY);
  ::dup2(null_fd, STDIN_FILENO);
  ::dup2(plan.output_fd, STDOUT_FILENO);
  ::dup2(plan.output_fd, STDERR_FILENO);
  ::fcntl(plan.events_fd, F_SETFD, 0);
  if (plan.inherit_fd >= 0) ::fcntl(plan.inherit_fd, F_SETFD, 0);
  // A signal before execv() must not run the handler of the parent, which writes to the parent's
  // pipe, and execv() would keep an ignored signal ignored. SIGPIPE is ignored by StopSignal.
  for (const int number : kStopSignals) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::execv(plan.argv[0], plan.argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(plan.error_fd, &error, sizeof error);
  ::_exit(kCannotExec);
}

}  // namespace

std::string describe(const ExitStatus& status) {
  if (status.signal == 0) return fmt::format("exit status {}", status.code);
  return fmt::format("killed by signal {} ({})", status.signal, ::strsignal(status.signal));
}

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
                           int inherit_fd) {
  Pipe events = make_pipe();
  Pipe output = make_pipe();
  Pipe failure = make_pipe();
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--events", fmt::to_string(events.write_end.get())});
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const ChildPlan plan = {.argv = argv.data(),
                          .parent = ::getpid(),
                          .events_fd = events.write_end.get(),
                          .output_fd = output.write_end.get(),
                          .inherit_fd = inherit_fd,
                          .error_fd = failure.write_end.get()};
  pid_ = ::fork();
  if (pid_ == 0) become_worker(plan);
  if (pid_ < 0) throw system_error("worker.spawn", "start a process", program, errno);

  failure.write_end.close();
  int error = 0;
  const ssize_t n = retried([&] { return ::read(failure.read_end.get(), &error, sizeof error); });
  if (n == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    throw Error(
        {.code = "worker.spawn",
         .what = fmt::format("cannot start encode-worker: {}", std::strerror(error)),
         .where = program,
         .expected = "the program encode-worker in the directory of encode",
         .found = std::strerror(error),
         .hint = "build the whole project with LibTorch, or name the worker in ENCODE_WORKER"});
  }
  events_ = std::move(events.read_end);
  output_ = std::move(output.read_end);
  set_non_blocking(events_);
  set_non_blocking(output_);
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<ExitStatus> ChildProcess::try_wait() {
  int status = 0;
  struct rusage usage = {};
  if (pid_ <= 0 || ::wait4(pid_, &status, WNOHANG, &usage) != pid_) return std::nullopt;
  pid_ = -1;
  ExitStatus result;
  result.peak_resident_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace encode
