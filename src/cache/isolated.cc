#include "cache/isolated.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "base/system_call.h"
#include "cache/folder.h"

namespace encode {
namespace {

Json to_json(const ErrorDetail& error) {
  const auto& [exit_code, code, what, where, expected, found, hint] = error;
  return Json::array({static_cast<int>(exit_code), code, what, where, expected, found, hint});
}

ErrorDetail error_from(const Json& json) {
  return {.exit_code = static_cast<ExitCode>(json.at(0).get<int>()),
          .code = json.at(1),
          .what = json.at(2),
          .where = json.at(3),
          .expected = json.at(4),
          .found = json.at(5),
          .hint = json.at(6)};
}

[[noreturn]] void work_as_child(const UniqueFd& pipe, const std::function<std::string()>& work) {
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  Json answer;
  try {
    answer["result"] = work();
  } catch (const Error& error) {
    answer["error"] = to_json(error.detail());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  try {
    const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace);
    write_all(pipe, text.data(), text.size(), "pipe");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

std::string read_to_end(const UniqueFd& pipe) {
  std::string text;
  std::array<char, 4096> part = {};
  while (true) {
    const ssize_t count = retried([&] { return ::read(pipe.get(), part.data(), part.size()); });
    if (count <= 0) return text;
    text.append(part.data(), static_cast<size_t>(count));
  }
}

}  // namespace

std::string run_isolated(const std::string& dir, const std::function<std::string()>& work) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw system_error("cache.store", "make a pipe for", dir, errno);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw system_error("cache.store", "make a process for", dir, errno);
  if (child == 0) work_as_child(to, work);
  to.close();
  const Json answer = Json::parse(read_to_end(from), nullptr, /*allow_exceptions=*/false);
  int status = 0;
  retried([&] { return ::waitpid(child, &status, 0); });
  if (answer.is_object() && answer.contains("result")) return answer["result"];
  if (answer.is_object() && answer.contains("error")) throw Error(error_from(answer["error"]));
  throw damaged_store({.path = dir},
                      WIFSIGNALED(status)
                          ? fmt::format("signal {} ({}) while it was read", WTERMSIG(status),
                                        ::strsignal(WTERMSIG(status)))
                          : "a failure while it was read");
}

}  // namespace encode
