// The only exception type of the project, and the exit codes of its programs.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <system_error>

namespace encode {

// Exit codes follow sysexits.h, so that a scheduler can act on them. docs/errors.md lists them for
// users.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 64,         // bad command line
  kData = 65,          // bad input rows, values that are not finite, or damage found by verify
  kNoInput = 66,       // an input or model file is missing
  kUnavailable = 69,   // the device is absent, cannot do what was asked for, or is out of memory
  kInternal = 70,      // a defect of encode, or a chunk that failed four times
  kOsError = 71,       // the system refused a process, a file descriptor or memory
  kCantCreate = 73,    // the output or the cache directory cannot be created
  kIoError = 74,       // a read or a write failed, or the disk is full
  kTempFail = 75,      // run the same command again: cache in use, GPU failure, preemption
  kNoPermission = 77,  // permission denied, or a read-only file system
  kConfig = 78,        // the config is invalid, or the cache belongs to another fingerprint
};

// What a user needs to know to correct an error. `code` ("model.shape") never changes its meaning,
// and docs/errors.md lists it. Every other text is a short phrase, or "" if it does not apply.
struct ErrorDetail {
  ExitCode exit_code = ExitCode::kInternal;
  std::string code;
  std::string what;   // one line: what is wrong
  std::string where;  // file, file:line, file:line:column, or a config key
  std::string expected;
  std::string found;
  std::string hint;  // the next step
};

// The exception that every module throws. main() catches it, prints render() to stderr and returns
// exit_code(). Its fields are escaped by printable() (base/utf8.h), and cut if they are over 8 KiB.
class Error : public std::exception {
 public:
  explicit Error(ErrorDetail detail);

  const ErrorDetail& detail() const { return detail_; }
  ExitCode exit_code() const { return detail_.exit_code; }
  const char* what() const noexcept override { return rendered_.c_str(); }  // render(detail())

 private:
  ErrorDetail detail_;
  std::string rendered_;
};

// Returns the text of an error, without a final newline. Empty fields get no line:
//   error[model.shape]: <what>
//     where     <where>
//     expected  <expected>
//     found     <found>
//     hint      <hint>
std::string render(const ErrorDetail& detail);

// The exit code for an errno value:
//   ENOENT, ENOTDIR, ELOOP            kNoInput
//   EACCES, EPERM, EROFS              kNoPermission
//   EMFILE, ENFILE, EAGAIN, ENOMEM    kOsError
//   any other, such as ENOSPC, EIO    kIoError
ExitCode exit_code_for_errno(int error_number);

// Makes an Error for a failed system call. `action` completes "cannot ...": "open", "rename". The
// errno value `error_number` gives the reason, the exit code and the hint.
Error system_error(std::string_view code, std::string_view action, const std::string& where,
                   int error_number);

// Makes the Error kOsError "os.thread" for a std::thread that the system has refused.
Error thread_error(const std::system_error& refused);

}  // namespace encode
