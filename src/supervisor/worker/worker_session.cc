#include "supervisor/worker/worker_session.h"

#include <array>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>

#include "base/units.h"
#include "supervisor/worker/line_reader.h"

namespace encode {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr size_t kKeptOutputLines = 5;
constexpr int64_t kMaxGarbageLines = 20;

void wait_for_input(const LineReader& events, const LineReader& output, int stop_fd) {
  std::array<pollfd, 3> fds = {{{.fd = events.fd(), .events = POLLIN, .revents = 0},
                                {.fd = output.fd(), .events = POLLIN, .revents = 0},
                                {.fd = stop_fd, .events = POLLIN, .revents = 0}}};
  // When both pipes are closed, the worker is about to exit. No descriptor becomes readable then,
  // so poll() gets a short timeout.
  const bool ending = events.fd() < 0 && output.fd() < 0;
  const auto timeout = ending ? std::chrono::milliseconds(2) : kTick;
  ::poll(fds.data(), fds.size(), static_cast<int>(timeout.count()));
}

}  // namespace

WorkerOutcome WorkerSession::run(const std::string& job_path, int lock_fd) {
  ChildProcess child(options_.program, {"--job", job_path}, lock_fd);
  return outcome(wait_for_end(child));
}

ExitStatus WorkerSession::wait_for_end(ChildProcess& child) {
  LineReader events(child.events_fd(), [this](std::string_view line) { event_line(line); });
  LineReader output(child.output_fd(), [this](std::string_view line) { output_line(line); });
  Clock::time_point last = Clock::now();
  while (true) {
    // The stop descriptor stays readable after a signal, so it is polled only until the signal was
    // passed on to the worker.
    wait_for_input(events, output, term_deadline_ ? -1 : stop_.fd());
    const std::optional<ExitStatus> status = child.try_wait();
    events.drain();
    output.drain();
    if (status) return *status;

    const Clock::time_point now = Clock::now();
    // If this process was paused itself (SIGSTOP, a suspended machine), the missing events do not
    // mean that the worker hangs, so the hang watch starts again.
    if (now - last > options_.hang_floor / 2) hang_.alive(now);
    last = now;
    watch(child, now);
    callbacks_.on_tick(now);
  }
}

void WorkerSession::event_line(std::string_view line) {
  WorkerEvent event;
  try {
    event = worker_event_from_json(line);
  } catch (const Error& error) {
    ++garbage_lines_;
    callbacks_.on_garbage(line, error.detail().what);
    return;
  }
  note_sign_of_life(event);
  callbacks_.on_event(event);
}

void WorkerSession::note_sign_of_life(const WorkerEvent& event) {
  const auto alive = [this] { hang_.alive(Clock::now()); };
  std::visit(
      Overloaded{[this](const BatchDone&) { hang_.batch(Clock::now()); },
                 [&](const ChunkStarted& started) {
                   unit_ = started.unit;
                   chunk_ = started.chunk;
                   alive();
                 },
                 [&](const ModelLoaded&) { alive(); }, [&](const UnitStarted&) { alive(); },
                 [&](const ChunkDone&) { alive(); }, [this](const UnitDone&) { hang_.pause(); },
                 [this](const ProductsTimed&) { hang_.pause(); },
                 [this](const WorkerFailed& failed) { reported_ = failed.error; },
                 [&](const WorkerFinished&) {
                   finished_ = true;
                   alive();  // goes on watching, because the worker may hang while it exits
                 },
                 // A log line may come from a timer, so it is not a sign of life.
                 [](const LogLine&) {}},
      event);
}

void WorkerSession::output_line(std::string_view line) {
  if (last_output_.size() == kKeptOutputLines) last_output_.erase(last_output_.begin());
  last_output_.push_back(preview(line, 200));
  callbacks_.on_output(line);
}

void WorkerSession::watch(ChildProcess& child, Clock::time_point now) {
  if (stop_.number() != 0 && !term_deadline_) {
    child.signal(SIGTERM);
    term_deadline_ = now + options_.stop_grace;
  }
  if (kill_deadline_) {
    if (now < *kill_deadline_) return;
    const pid_t pid = child.pid();
    child.abandon();
    throw Error({.exit_code = ExitCode::kTempFail,
                 .code = "worker.stuck",
                 .what = "encode-worker cannot be killed: it is stuck in the kernel",
                 .where = fmt::format("process {}", pid),
                 .expected = "a process that ends after SIGKILL",
                 .found = "a process that is still running",
                 .hint = "look at the driver's log (dmesg); the machine may need a restart"});
  }
  if (hang_.hung(now) && !term_deadline_) {
    hung_ = true;
    kill(child, now);
  } else if ((term_deadline_ && now >= *term_deadline_) || garbage_lines_ > kMaxGarbageLines) {
    kill(child, now);
  }
}

void WorkerSession::kill(const ChildProcess& child, Clock::time_point now) {
  child.signal(SIGKILL);
  kill_deadline_ = now + options_.kill_grace;
}

WorkerOutcome WorkerSession::outcome(const ExitStatus& status) const {
  using End = WorkerOutcome::End;
  WorkerOutcome result;
  result.unit = unit_;
  result.chunk = chunk_;
  result.peak_resident_bytes = status.peak_resident_bytes;
  const bool success = status.signal == 0 && status.code == 0 && finished_;
  if (stop_.number() != 0) {
    result.end = End::kStopped;
  } else if (success) {
    result.end = End::kFinished;
  } else {
    result.error = cause(status);
    // An error that the worker reported takes precedence over its exit status, because CUDA often
    // aborts in the destructors of a process that ends after an error.
    const bool told = reported_ && !hung_;
    const bool retry =
        told ? reported_->exit_code == ExitCode::kTempFail
             : status.signal != 0 || status.code == static_cast<int>(ExitCode::kTempFail);
    result.end = retry ? End::kRetry : End::kFatal;
  }
  return result;
}

ErrorDetail WorkerSession::cause(const ExitStatus& status) const {
  const auto seconds = [](Clock::duration time) {
    return format_duration(std::chrono::duration<double>(time).count());
  };
  ErrorDetail detail;
  detail.code = "worker.died";
  detail.what = fmt::format("encode-worker ended unexpectedly: {}", describe(status));
  detail.expected = "a worker that completes its rows";
  detail.found =
      last_output_.empty() ? "no output" : fmt::format("{}", fmt::join(last_output_, "\n"));
  detail.hint = "run the same command again; it continues after the last committed chunk";
  if (hung_) {
    detail.code = "worker.hung";
    detail.what = fmt::format("encode-worker was killed: no batch came back for {}",
                              seconds(hang_.patience()));
  } else if (garbage_lines_ > kMaxGarbageLines) {
    detail.code = "worker.garbage";
    detail.what = "encode-worker was killed: it sent lines that are not events";
    detail.hint = "install encode and encode-worker from the same build";
  } else if (reported_) {
    detail = *reported_;
  } else if (status.signal == SIGKILL) {
    detail.hint =
        "the kernel may have killed it for lack of memory: look at dmesg, and give the job more "
        "host memory";
  }
  // Passes an exit status on only if it is one of the documented codes; another one would mislead a
  // scheduler.
  if (!reported_ && status.signal == 0 && status.code >= static_cast<int>(ExitCode::kUsage) &&
      status.code <= static_cast<int>(ExitCode::kConfig)) {
    detail.exit_code = static_cast<ExitCode>(status.code);
  }
  return detail;
}

}  // namespace encode
