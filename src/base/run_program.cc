#include "base/run_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/system_call.h"

namespace encode {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;

// The streams are files in memory and not pipes, so that no side waits for the other one.
UniqueFd memory_file(const std::string& program, ErrorCode code) {
  UniqueFd fd(::memfd_create("stream", MFD_CLOEXEC));
  if (!fd) throw system_error(code, "make a file in memory for", program, errno);
  return fd;
}

std::string content(const UniqueFd& fd, const std::string& program) {
  std::string text(static_cast<size_t>(std::min(file_size(fd, program), kMostBytes)), '\0');
  pread_all(fd, text, 0, program);
  return text;
}

class SpawnSettings {
 public:
  explicit SpawnSettings(const std::array<UniqueFd, 3>& streams) {
    ::posix_spawn_file_actions_init(&actions_);
    for (size_t i = 0; i < streams.size(); ++i)
      ::posix_spawn_file_actions_adddup2(&actions_, streams[i].get(), static_cast<int>(i));
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaddset(&signals, number);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
  posix_spawnattr_t attributes_ = {};
};

}  // namespace

std::optional<ProgramOutput> run_program(const std::vector<std::string>& words,
                                         std::string_view input, ErrorCode code) {
  const std::string& program = words.front();
  const std::array<UniqueFd, 3> streams = {memory_file(program, code), memory_file(program, code),
                                           memory_file(program, code)};
  write_all(streams[0], input.data(), input.size(), program);
  ::lseek(streams[0].get(), 0, SEEK_SET);
  std::vector<std::string> copies = words;  // argv has pointers to char that is not const
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const SpawnSettings settings(streams);
  pid_t child = -1;
  const int failure = ::posix_spawnp(&child, argv[0], settings.actions(), settings.attributes(),
                                     argv.data(), environ);
  if (failure == ENOENT) return std::nullopt;
  if (failure != 0) throw system_error(code, "start", program, failure);
  int status = 0;
  if (retried([&] { return ::waitpid(child, &status, 0); }) < 0)
    throw system_error(code, "wait for", program, errno);
  constexpr int kShellOffset = 128;
  return ProgramOutput{
      .exit_code = WIFSIGNALED(status) ? kShellOffset + WTERMSIG(status) : WEXITSTATUS(status),
      .out = content(streams[1], program),
      .err = content(streams[2], program)};
}

}  // namespace encode
