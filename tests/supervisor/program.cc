#include "supervisor/program.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

void redirect(const std::string& path, int fd) {
  ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), fd);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

Program::Program(std::string directory, std::vector<std::string> arguments,
                 const Environment& environment, const std::function<void()>& before_exec)
    : directory_(std::move(directory)) {
  arguments.insert(arguments.begin(), built_file(ENCODE_PROGRAM));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  redirect(directory_ + "/stdout", STDOUT_FILENO);
  redirect(directory_ + "/stderr", STDERR_FILENO);
  ::setenv("ENCODE_WORKER", built_file(FAKE_WORKER_PROGRAM).c_str(), 1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (before_exec) before_exec();
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

Program::~Program() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  wait();
}

void Program::signal(int number) const { ::kill(pid_, number); }

ProgramEnd Program::wait() {
  int status = 0;
  struct rusage usage = {};
  ::wait4(std::exchange(pid_, -1), &status, 0, &usage);
  ProgramEnd end;
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  end.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  end.peak_resident_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  end.out = read_bytes(directory_ + "/stdout");
  end.err = read_bytes(directory_ + "/stderr");
  return end;
}

std::string with_folder(std::string text, const std::string& folder) {
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    text.replace(at, 1, folder);
    at += folder.size();
  }
  return text;
}

std::vector<std::string> run_words(const std::string& input, const std::string& output,
                                   const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run", "--model", test_data("models/bert"), "--input", input};
  words.insert(words.end(), {"--field", "text", "--output", output});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace encode::testing
