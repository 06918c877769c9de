// The exit codes of the programs, as constants. They follow sysexits.h, so that a scheduler can act
// on them. Any thread may call the functions, which throw no Error.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace encode {

// kExitCodes says what each code means.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 64,
  kData = 65,
  kNoInput = 66,
  kUnavailable = 69,
  kInternal = 70,
  kOsError = 71,
  kCantCreate = 73,
  kIoError = 74,
  kTempFail = 75,
  kNoPermission = 77,
  kConfig = 78,
};

struct ExitCodeFacts {
  ExitCode code;
  std::string_view summary;    // a sentence, for the manual page
  std::string_view meaning;    // one line of Markdown
  std::string_view run_again;  // whether the same command may succeed: one line of Markdown
};

// Every exit code. `encode man` and `encode reference exit-codes`, which makes the table in
// docs/errors.md, print these texts.
inline constexpr auto kExitCodes = std::to_array<ExitCodeFacts>({
    {ExitCode::kOk, "Every matrix is complete and checked.", "every matrix is complete and checked",
     "-"},
    {ExitCode::kUsage, "The command line is not valid.", "bad command line", "no"},
    {ExitCode::kData, "Bad data: a bad row, a value that is not finite, or damage.",
     "bad data: a bad row, rows that were set aside, a value that is not finite, damage that "
     "`verify` found, or a limit missed in `compare`",
     "no"},
    {ExitCode::kNoInput, "An input or a model file is missing.",
     "an input or a model file is missing", "no"},
    {ExitCode::kUnavailable, "The device is absent, cannot do this, or is out of memory.",
     "the device is absent, cannot do what the config asks for, or is out of memory; `encode pull` "
     "cannot reach its server; Slurm is absent or refuses a job",
     "no: change the config or the machine first"},
    {ExitCode::kInternal, "A defect of encode, or rows that failed three times.",
     "internal error; rows that failed three times without one to blame; a worker that died or "
     "hung "
     "too often",
     "no"},
    {ExitCode::kOsError, "The system refused a process, a descriptor or memory.",
     "the operating system refused a process, a thread, a descriptor, a stack or memory (`ulimit "
     "-v` and `ulimit -d` too); no chunk was committed in `max_restarts` starts of a worker for "
     "lack of host memory; or `encode-worker` cannot be started",
     "after the limit is raised, or the job has more memory"},
    {ExitCode::kCantCreate, "An output or the cache directory cannot be created.",
     "the cache directory or an output cannot be created, or would replace a file that `encode` "
     "did not write",
     "no"},
    {ExitCode::kIoError, "Reading or writing failed, or the disk is full.",
     "reading or writing failed, the disk or the limit of file sizes (`ulimit -f`) is full, or the "
     "standard output is gone",
     "after the cause is removed, for example after someone has made space"},
    {ExitCode::kTempFail, "The same command continues the run: run it again.",
     "**the same command continues the run**: the cache is in use, jobs of `encode slurm` are "
     "still in the queue, the CUDA context failed, a worker cannot be killed, a download was cut "
     "off, the server of a network file system did not answer (ESTALE, ETIMEDOUT), or the run was "
     "preempted (SIGUSR1, SIGUSR2, "
     "SIGXCPU, SIGALRM, SIGPWR)",
     "**yes**"},
    {ExitCode::kNoPermission, "Permission denied, or a read-only file system.",
     "permission denied, or a read-only file system", "no"},
    {ExitCode::kConfig, "The config or the model is not valid, or the cache is another's.",
     "the config or the model directory is not valid, the cache belongs to another run, or "
     "`encode` and `encode-worker` are of different builds",
     "no"},
});

// Returns true if kExitCodes has the number, which the end of another process may have given.
constexpr bool is_exit_code(int number) {
  return std::any_of(kExitCodes.begin(), kExitCodes.end(), [number](const ExitCodeFacts& facts) {
    return static_cast<int>(facts.code) == number;
  });
}

}  // namespace encode
