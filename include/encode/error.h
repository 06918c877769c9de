// The only exception type of the project. Any thread may call the functions.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include "encode/error_code.h"
#include "encode/exit_code.h"

namespace encode {

// ErrorDetail::hint of an error that cannot happen if encode has no defect.
inline constexpr const char* kDefectHint = "this is a defect of encode; please report it";

// What a user needs to know to correct an error. `code` never changes its meaning. Every text is a
// short phrase, or "" if it does not apply.
struct ErrorDetail {
  ErrorCode code;
  ExitCode exit_code = code.exit_code();
  std::string what;        // one line: what is wrong
  std::string where = {};  // file, file:line, file:line:column, or a config key
  std::string expected = {};
  std::string found = {};
  std::string hint = {};  // the next step
  // The errno value of the system call that has failed; 0 if there is none.
  int64_t error_number = 0;
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
//   ESTALE, ETIMEDOUT, EREMOTEIO      kTempFail, because the server of a network file system may
//                                     answer again
//   any other, such as ENOSPC, EIO    kIoError
ExitCode exit_code_for_errno(int error_number);

// Makes an Error for a failed system call. `action` completes "cannot ...": "open", "rename". The
// errno value `error_number` gives the reason, the exit code and the hint.
Error system_error(ErrorCode code, std::string_view action, const std::string& where,
                   int error_number);

// Makes the Error kOsError "os.thread" for a std::thread that the system has refused.
Error thread_error(const std::system_error& refused);

// Describes the exception that is being handled, so it must be called in a catch block. A failed
// allocation is "os.memory", a std::thread that the system has refused is "os.thread", and any
// exception apart from these and Error is "internal".
ErrorDetail current_error();

}  // namespace encode
