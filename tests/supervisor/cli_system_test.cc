// Tests how `encode` ends if the system takes something from it: the standard output, the size of
// files, memory, or time.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class SystemLimits : public ::testing::Test {
 protected:
  SystemLimits() { dir_.write("texts.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n"); }

  std::vector<std::string> run(const std::string& name) const {
    return run_words(dir_.file("texts.jsonl"), dir_.file(name + ".npy"),
                     {"--cache-dir", dir_.file(name + "_cache")});
  }
  ProgramEnd encode(std::vector<std::string> arguments,
                    const std::function<void()>& before_exec = {}) {
    return Program(dir_.path(), std::move(arguments), {}, before_exec).wait();
  }

  TempDir dir_;
};

void limit(int resource, rlim_t value) {
  const rlimit both = {.rlim_cur = value, .rlim_max = value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// A way in which the standard output can be gone.
struct Gone {
  const char* name;
  void (*remove)();
};

void full() { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO); }
void closed() { ::close(STDOUT_FILENO); }
void pipe_without_reader() {
  int ends[2] = {};
  if (::pipe(ends) != 0) ::_exit(1);
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[0]);
  ::close(ends[1]);
}
void ignored_pipe_without_reader() {
  ::signal(SIGPIPE, SIG_IGN);
  pipe_without_reader();
}

TEST_F(SystemLimits, LostOutputIsNeverSuccess) {
  ASSERT_EQ(encode(run("a")).exit_code, 0);
  const std::string matrix = dir_.file("a.npy");
  const std::string config = dir_.write("c.yaml", "semantic:\n  model: m\ninput: {file: t.txt}\n");
  const std::vector<std::vector<std::string>> commands = {
      {"config", "--print", "--config", config},
      {"config", "--schema"},
      {"compare", matrix, matrix},
      {"compare", matrix, matrix, "--json"},
      {"verify", matrix},
      {"verify", matrix, "--json"},
      {"models"},
      {"status", dir_.file("a_cache")},
      {"status", dir_.file("a_cache"), "--json"},
      {"tokenize", "--tokenizer", test_data("tokenizer/wordpiece/tokenizer.json"), "--input",
       dir_.file("texts.jsonl"), "--field", "text", "--output", dir_.file("ids"), "--overwrite"},
      {"bench", "--help"},
      {"run", "--help"},
      {"--help"},
      {"--version"},
      {"version"},
      {"version", "--json"},
      {"completions", "bash"},
      {"man"},
  };
  const std::vector<Gone> ways = {{"full", full},
                                  {"closed", closed},
                                  {"pipe", pipe_without_reader},
                                  {"ignored pipe", ignored_pipe_without_reader}};
  for (const std::vector<std::string>& command : commands) {
    EXPECT_EQ(encode(command).exit_code, 0) << command.front() << ": the control";
    for (const Gone& gone : ways) {
      const ProgramEnd end = encode(command, gone.remove);
      if (end.signal == SIGPIPE) continue;
      EXPECT_EQ(end.exit_code, 74) << command.front() << ", " << gone.name;
      EXPECT_THAT(end.err, HasSubstr("error[io.stdout]")) << command.front() << ", " << gone.name;
    }
  }
}

// A closed descriptor must not become the number of a file of the store.
TEST_F(SystemLimits, ClosedDescriptorsAreNotReused) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const std::string name = "closed" + std::to_string(fd);
    EXPECT_EQ(encode(run(name), [fd] { ::close(fd); }).exit_code, 0);
    EXPECT_EQ(encode({"verify", dir_.file(name + ".npy")}).exit_code, 0);
    EXPECT_THAT(read_bytes(dir_.file(name + "_cache/LOCK")), ::testing::StartsWith("{"));
  }
}

TEST_F(SystemLimits, SizeOfFiles) {
  int failed = 0;
  for (const rlim_t bytes : {700, 1000, 2000, 4000, 100'000}) {
    std::vector<std::string> arguments = run("size" + std::to_string(bytes));
    arguments.emplace_back("--quiet");  // the limit holds for the file of the messages too
    const ProgramEnd end = encode(arguments, [=] { limit(RLIMIT_FSIZE, bytes); });
    EXPECT_EQ(end.signal, 0) << bytes;
    if (end.exit_code == 0) continue;
    ++failed;
    EXPECT_EQ(end.exit_code, 74) << bytes << ": " << end.err;
    EXPECT_THAT(end.err, HasSubstr("ulimit -f"));
  }
  EXPECT_GE(failed, 1);
  EXPECT_LT(failed, 5);
}

TEST_F(SystemLimits, AddressSpace) {
  int refused = 0;
  int good = 0;
  for (rlim_t megabytes = 16; megabytes <= 512; megabytes += megabytes / 4) {
    const ProgramEnd end = encode(run("memory" + std::to_string(megabytes)),
                                  [=] { limit(RLIMIT_AS, megabytes << 20); });
    constexpr int kLoaderFailed = 127;  // the system could not start `encode` itself
    EXPECT_EQ(end.signal, 0) << megabytes << " MB: " << end.err;
    EXPECT_THAT(end.exit_code, AnyOf(0, 71, kLoaderFailed)) << megabytes << " MB: " << end.err;
    good += end.exit_code == 0 ? 1 : 0;
    refused += end.exit_code == 71 ? 1 : 0;
  }
  EXPECT_GE(refused, 1);
  EXPECT_GE(good, 1);
}

// A limit that a run can meet only in its middle is refused at the start, by a run and by
// preflight.
TEST_F(SystemLimits, Descriptors) {
  constexpr int kLoaderFailed = 127;  // the system could not start `encode` itself
  for (const rlim_t files : {3, 5, 6, 8, 10, 12, 14, 16, 31}) {
    for (const char* command : {"run", "preflight"}) {
      std::vector<std::string> arguments = run("files" + std::to_string(files));
      arguments.front() = command;
      const ProgramEnd end = encode(arguments, [=] { limit(RLIMIT_NOFILE, files); });
      EXPECT_THAT(end.exit_code, AnyOf(71, kLoaderFailed)) << command << ' ' << files << end.err;
      if (files >= 12) {
        EXPECT_THAT(end.err, HasSubstr("os.open_files")) << command << ' ' << files;
      }
    }
  }
  EXPECT_EQ(encode(run("enough"), [] { limit(RLIMIT_NOFILE, 32); }).exit_code, 0);
}

TEST_F(SystemLimits, Stack) {
  const ProgramEnd end = encode(run("stack"), [] { limit(RLIMIT_STACK, 64 << 10); });
  EXPECT_EQ(end.exit_code, 71) << end.signal;
  EXPECT_THAT(end.err, HasSubstr("os.stack"));
  EXPECT_EQ(encode(run("stack"), [] { limit(RLIMIT_STACK, 512 << 10); }).exit_code, 0);
}

class ScanSignals : public SystemLimits, public ::testing::WithParamInterface<int> {
 protected:
  // Sends the signal while the input is scanned, which takes seconds.
  ProgramEnd stop_the_scan() {
    const std::string input = dir_.write("many.txt", std::string(size_t{64} << 20, '\n'));
    Program program(dir_.path(),
                    {"run", "--model", test_data("models/bert"), "--input", input, "--cache-dir",
                     dir_.file("cache"), "--output", dir_.file("out.npy")});
    const std::string log = dir_.file("cache/encode.log");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!std::filesystem::exists(dir_.file("cache/model_hashes.json")) &&
           !(std::filesystem::exists(log) &&
             read_bytes(log).find("hidden size") != std::string::npos) &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    program.signal(GetParam());
    return program.wait();
  }
};

class RestartSignals : public ScanSignals {};

TEST_P(RestartSignals, EndTheScanWithTheExitCodeForARestart) {
  const ProgramEnd end = stop_the_scan();
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, 75);
  EXPECT_THAT(end.err, HasSubstr("this run has encoded nothing yet"));
}
INSTANTIATE_TEST_SUITE_P(All, RestartSignals,
                         ::testing::Values(SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGPWR));

TEST_P(ScanSignals, EndTheScanByTheSignal) {
  const ProgramEnd end = stop_the_scan();
  EXPECT_EQ(end.signal, GetParam());
  EXPECT_THAT(end.err, HasSubstr("while the inputs were read; this run has encoded nothing yet"));
}
INSTANTIATE_TEST_SUITE_P(All, ScanSignals, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace
}  // namespace encode::testing
