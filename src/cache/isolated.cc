#include "cache/isolated.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "base/system_call.h"
#include "cache/folder.h"

namespace encode {
namespace {

Json to_json(const ErrorDetail& error) {
  const auto& [code, exit_code, what, where, expected, found, hint, error_number] = error;
  return Json::array(
      {static_cast<int>(exit_code), code.name(), what, where, expected, found, hint, error_number});
}

ErrorDetail error_from(const Json& json) {
  return {.code = ErrorCode::find(json.at(1).get<std::string>()).value_or(ErrorCode("cache.store")),
          .exit_code = static_cast<ExitCode>(json.at(0).get<int>()),
          .what = json.at(2),
          .where = json.at(3),
          .expected = json.at(4),
          .found = json.at(5),
          .hint = json.at(6),
          .error_number = json.at(7)};
}

// Sends the answer as one line. So the parent does not have to wait for the end of the pipe, which
// never comes if the child is stuck.
void send(const UniqueFd& pipe, const Json& answer) {
  const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_all(pipe, text.data(), text.size(), "pipe");
}

void limit_resources() {
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer takes far more memory
  rlimit memory = {};
  ::getrlimit(RLIMIT_DATA, &memory);
  memory.rlim_cur = std::min<rlim_t>(memory.rlim_max, kIsolatedBytes);
  ::setrlimit(RLIMIT_DATA, &memory);
#endif
}

[[noreturn]] void work_as_child(const UniqueFd& pipe, pid_t parent, const IsolatedWork& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent has died before prctl()
  limit_resources();
  try {
    Json answer;
    try {
      answer["result"] = work([&pipe](const Error& error) {
        send(pipe, {{"error", to_json(error.detail())}});
        ::_exit(1);
      });
    } catch (const Error& error) {
      answer["error"] = to_json(error.detail());
    }
    send(pipe, answer);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

std::string read_line(const UniqueFd& pipe) {
  std::string text;
  std::array<char, 4096> part = {};
  while (text.empty() || text.back() != '\n') {
    const ssize_t count = retried([&] { return ::read(pipe.get(), part.data(), part.size()); });
    if (count <= 0) return text;
    text.append(part.data(), static_cast<size_t>(count));
  }
  return text;
}

// Waits for the end of the child, and returns its status. If the child has answered, waits only two
// seconds, because it may be stuck in the kernel; then returns nullopt.
std::optional<int> end_of(pid_t child, bool answered) {
  constexpr auto kExitTime = std::chrono::seconds(2);
  constexpr auto kInterval = std::chrono::milliseconds(1);
  const auto end = std::chrono::steady_clock::now() + kExitTime;
  int status = 0;
  while (retried([&] { return ::waitpid(child, &status, answered ? WNOHANG : 0); }) == 0) {
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(kInterval);
  }
  return status;
}

}  // namespace

std::string run_isolated(const std::string& dir, const IsolatedWork& work) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw system_error("cache.store", "make a pipe for", dir, errno);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw system_error("cache.store", "make a process for", dir, errno);
  if (child == 0) work_as_child(to, parent, work);
  to.close();
  const Json answer = Json::parse(read_line(from), nullptr, /*allow_exceptions=*/false);
  const bool answered = answer.is_object();
  const std::optional<int> status = end_of(child, answered);
  if (answered && answer.contains("result")) return answer["result"];
  if (answered && answer.contains("error")) throw Error(error_from(answer["error"]));
  if (status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
    throw Error({.code = "cache.killed",
                 .what = "the process that used the embedding cache was killed",
                 .where = dir,
                 .expected = "a process that ends by itself",
                 .found = "signal 9 (Killed)",
                 .hint = "run the command again; the host may be short of memory"});
  throw damaged_store({.path = dir},
                      status && WIFSIGNALED(*status)
                          ? fmt::format("signal {} ({}) while it was read", WTERMSIG(*status),
                                        ::strsignal(WTERMSIG(*status)))
                          : "a failure while it was read");
}

}  // namespace encode
