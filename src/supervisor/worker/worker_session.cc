#include "supervisor/worker/worker_session.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <system_error>
#include <utility>

#include "base/environment.h"
#include "base/process_limits.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr size_t kKeptOutputLines = 5;
constexpr int64_t kMaxGarbageLines = 20;

// Says what to do if the loader of encode-worker does not find a library, or has no memory for it.
std::string advice_on_libraries() {
  constexpr const char* kLibrary = "lib/libtorch_cpu.so";
  const std::string root = environment_variable("TORCH_ROOT");
  std::error_code ignored;
  const bool wrong = !root.empty() && !std::filesystem::exists(root + "/" + kLibrary, ignored);
  return fmt::format(
      "{}set {} to the folder of a LibTorch of the version that encode --version shows, or raise "
      "the limits of the process (ulimit -v, ulimit -d)",
      wrong ? fmt::format("TORCH_ROOT is '{}', which has no {}: ", preview(root, 300), kLibrary)
            : "",
      wrong ? "it" : "TORCH_ROOT");
}

}  // namespace

WorkerOutcome WorkerSession::run(const std::string& job_path, int lock_fd) {
  start(job_path, lock_fd);
  while (true) {
    wait_for_input({this}, stop_, kTick);
    const Clock::time_point now = Clock::now();
    if (std::optional<WorkerOutcome> end = step(now)) return std::move(*end);
    callbacks_.on_tick(now);
  }
}

void WorkerSession::start(const std::string& job_path, int lock_fd) {
  child_ = std::make_unique<ChildProcess>(options_.program,
                                          std::vector<std::string>{"--job", job_path}, lock_fd);
  events_ = std::make_unique<LineReader>(child_->events_fd(),
                                         [this](std::string_view line) { event_line(line); });
  output_ = std::make_unique<LineReader>(child_->output_fd(),
                                         [this](std::string_view line) { output_line(line); });
  stepped_ = Clock::now();
}

void WorkerSession::wait_for_input(const std::vector<const WorkerSession*>& sessions,
                                   const StopSignal& stop, std::chrono::milliseconds most) {
  std::vector<pollfd> fds;
  // The stop descriptor stays readable after a signal, so it is polled only until every worker was
  // told of the signal.
  bool told = !sessions.empty();
  for (const WorkerSession* session : sessions) {
    for (const LineReader* reader : {session->events_.get(), session->output_.get()})
      fds.push_back({.fd = reader->fd(), .events = POLLIN, .revents = 0});
    told = told && session->term_deadline_;
    // When both pipes are closed, the worker is about to exit. No descriptor becomes readable then.
    constexpr auto kExit = std::chrono::milliseconds(2);
    if (session->events_->fd() < 0 && session->output_->fd() < 0) most = std::min(most, kExit);
  }
  fds.push_back({.fd = told ? -1 : stop.fd(), .events = POLLIN, .revents = 0});
  ::poll(fds.data(), fds.size(), static_cast<int>(most.count()));
}

std::optional<WorkerOutcome> WorkerSession::step(Clock::time_point now) {
  const std::optional<ExitStatus> status = child_->try_wait();
  events_->drain();
  output_->drain();
  if (status) return outcome(*status);
  // If this process was paused itself (SIGSTOP, a suspended machine), the missing events do not
  // mean that the worker hangs, so the hang watch starts again.
  if (now - stepped_ > options_.hang_floor / 2) hang_.forgive(now);
  stepped_ = now;
  watch(now);
  return std::nullopt;
}

void WorkerSession::event_line(std::string_view line) {
  if (refused_) return;
  std::optional<WorkerEvent> event;
  try {
    event = reader_.read(line);
  } catch (const Error& error) {
    if (error.detail().code == "job.protocol") return refuse(error.detail());
    ++garbage_lines_;
    callbacks_.on_garbage(line, error.detail().what);
  }
  if (!event) return;
  note_sign_of_life(*event);
  callbacks_.on_event(*event);
}

void WorkerSession::refuse(ErrorDetail error) {
  error.where = options_.program;
  refused_ = std::move(error);
  kill(Clock::now());
}

void WorkerSession::note_sign_of_life(const WorkerEvent& event) {
  const auto alive = [this] { hang_.alive(Clock::now()); };
  std::visit(Overloaded{[this](const BatchDone&) { hang_.batch(Clock::now()); },
                        [this](const ModelLoading&) { hang_.loading(Clock::now()); },
                        [this](const UnitDone&) { hang_.pause(); },
                        [this](const ProductsTimed&) { hang_.pause(); },
                        [this](const WorkerFailed& failed) { reported_ = failed.error; },
                        [&](const WorkerFinished&) {
                          finished_ = true;
                          alive();  // keeps watching, because the worker may hang while it exits
                        },
                        [&](const WorkerRetired& retired) {
                          retired_ = retired.reason;
                          alive();
                        },
                        // These may come from a timer, so they are not signs of life.
                        [](const LogLine&) {}, [](const MemoryPressure&) {},
                        [](const CacheProblem&) {}, [&](const auto&) { alive(); }},
             event);
}

void WorkerSession::output_line(std::string_view line) {
  if (last_output_.size() == kKeptOutputLines) last_output_.erase(last_output_.begin());
  last_output_.push_back(preview(line, 200));
  callbacks_.on_output(line);
}

void WorkerSession::watch(Clock::time_point now) {
  if (stop_.number() != 0 && !term_deadline_) {
    child_->signal(SIGTERM);
    term_deadline_ = now + options_.stop_grace;
  }
  if (kill_deadline_) {
    if (now < *kill_deadline_) return;
    const pid_t pid = child_->pid();
    child_->abandon();
    throw Error({.code = "worker.stuck",
                 .what = "encode-worker cannot be killed: it is stuck in the kernel",
                 .where = fmt::format("process {}", pid),
                 .expected = "a process that ends after SIGKILL",
                 .found = "a process that is still running",
                 .hint = "look at the driver's log (dmesg); the machine may need a restart"});
  }
  if (hang_.hung(now) && !term_deadline_) {
    hung_ = true;
    kill(now);
  } else if ((term_deadline_ && now >= *term_deadline_) || garbage_lines_ > kMaxGarbageLines) {
    kill(now);
  }
}

void WorkerSession::kill(Clock::time_point now) {
  child_->signal(SIGKILL);
  kill_deadline_ = now + options_.kill_grace;
}

WorkerOutcome WorkerSession::outcome(const ExitStatus& status) const {
  using End = WorkerOutcome::End;
  WorkerOutcome result;
  result.peak_resident_bytes = status.peak_resident_bytes;
  const bool success = status.signal == 0 && status.code == 0 && finished_;
  if (stop_.number() != 0) {
    result.end = End::kStopped;
  } else if (refused_) {
    result.error = *refused_;
  } else if (success) {
    result.end = End::kFinished;
  } else if (!retired_.empty() && !hung_) {
    result.end = End::kRetired;
    result.retired = retired_;
  } else {
    result.error = cause(status);
    // An error that the worker reported takes precedence over its exit status, because CUDA often
    // aborts in the destructors of a process that ends after an error.
    const bool told = reported_ && !hung_;
    const bool retry =
        told ? reported_->exit_code == ExitCode::kTempFail
             : result.error.exit_code != ExitCode::kOsError &&
                   (status.signal != 0 || status.code == static_cast<int>(ExitCode::kTempFail));
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
  detail.where = options_.program;
  detail.expected = "a worker that completes its rows";
  detail.found =
      last_output_.empty() ? "no output" : fmt::format("{}", fmt::join(last_output_, "\n"));
  detail.hint =
      last_output_.empty()
          ? "check that this is the encode-worker of this version; the same command continues "
            "after the last committed chunk"
          : "the output above and `encode status`, which counts the faults, may show the cause; "
            "without it, the same command continues after the last committed chunk";
  if (hung_) {
    detail.code = "worker.hung";
    detail.what = fmt::format(
        "encode-worker was killed: {} for {}",
        hang_.is_loading() ? "it loaded no further part of the model" : "no batch came back",
        seconds(hang_.patience()));
  } else if (garbage_lines_ > kMaxGarbageLines) {
    detail.code = "worker.garbage";
    detail.what = "encode-worker was killed: it sent too many lines that are not events";
    detail.hint = kDefectHint;
  } else if (reported_) {
    detail = *reported_;
  } else if (const auto killed = oom_.cause(status)) {
    detail = *killed;
  } else if (status.signal == SIGABRT && memory_is_limited() &&
             detail.found.find("std::bad_alloc") != std::string::npos) {
    // The worker could not allocate a static object, which happens before it can report an error.
    detail = out_of_limited_memory(detail.where, "memory for LibTorch and the model", detail.found);
  } else if (status.signal == SIGKILL) {
    detail.hint =
        "the kernel may have killed it for lack of memory: look at dmesg, and give the job more "
        "host memory";
  }
  constexpr int kLoaderFailed = 127;
  if (!reported_ && status.signal == 0 && status.code == kLoaderFailed) {
    detail.exit_code = ExitCode::kOsError;
    detail.code = "worker.spawn";
    detail.what = "cannot start encode-worker: a library cannot be loaded";
    detail.expected = "LibTorch and memory for it";
    detail.hint = advice_on_libraries();
  }
  // Passes on only the documented exit codes; any other code would mislead a scheduler.
  const bool failed = status.signal == 0 && status.code != static_cast<int>(ExitCode::kOk);
  if (!reported_ && failed && is_exit_code(status.code)) {
    detail.exit_code = static_cast<ExitCode>(status.code);
  }
  return detail;
}

WorkerOutcome run_alone(WorkerOptions options, const StopSignal& stop, const std::string& job_path,
                        std::function<void(const WorkerEvent&)> on_event) {
  WorkerSession session(std::move(options), stop,
                        {.on_event = std::move(on_event),
                         .on_output = [](std::string_view) {},
                         .on_garbage = [](std::string_view, const std::string&) {},
                         .on_tick = [](Clock::time_point) {}});
  constexpr int kNoLock = -1;
  return session.run(job_path, kNoLock);
}

}  // namespace encode
