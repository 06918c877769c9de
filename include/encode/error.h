// The one exception type of the project and the exit codes of its programs.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace encode {

// Exit codes follow sysexits.h, so that a scheduler can act on them; docs/errors.md is the table
// for users.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 64,         // bad command line
  kData = 65,          // bad input rows, non-finite output, or verify found damage
  kNoInput = 66,       // an input or model file is missing
  kUnavailable = 69,   // the device is absent, cannot do what was asked for, or is out of memory
  kInternal = 70,      // a defect of encode, or a chunk that failed three times
  kOsError = 71,       // the system refused a process, a file descriptor or memory
  kCantCreate = 73,    // the output or cache directory cannot be created
  kIoError = 74,       // read or write failed, disk full
  kTempFail = 75,      // the same command goes on: cache in use, dead CUDA context, preempted
  kNoPermission = 77,  // permission denied, read-only file system
  kConfig = 78,        // config invalid, or the cache belongs to another fingerprint
};

// What a user needs in order to act. `code` is stable ("model.shape") and listed in docs/errors.md;
// every other field is a short phrase, empty where it has no meaning.
struct ErrorDetail {
  ExitCode exit_code = ExitCode::kInternal;
  std::string code;
  std::string what;   // one line: what is wrong
  std::string where;  // file, file:line, file:line:column, or a config key
  std::string expected;
  std::string found;
  std::string hint;  // the next step
};

// Thrown by every module; caught in main(), which prints render() to stderr and returns
// exit_code().
class Error : public std::exception {
 public:
  explicit Error(ErrorDetail detail);

  const ErrorDetail& detail() const { return detail_; }
  ExitCode exit_code() const { return detail_.exit_code; }
  const char* what() const noexcept override { return rendered_.c_str(); }  // the same as render()

 private:
  ErrorDetail detail_;
  std::string rendered_;
};

// "error[model.shape]: ...\n  where     ...\n  expected  ...\n  found     ...\n  hint      ...", no
// final newline.
std::string render(const ErrorDetail& detail);

// The exit code that belongs to an errno value: ENOENT -> kNoInput, ENOSPC -> kIoError, EACCES ->
// kNoPermission, ...
ExitCode exit_code_for_errno(int error_number);

// An Error for a failed system call: `action` is "open", "rename", ...; `where` is the path.
Error system_error(std::string_view code, std::string_view action, const std::string& where,
                   int error_number);

}  // namespace encode
