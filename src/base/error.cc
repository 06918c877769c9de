#include "encode/error.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace encode {

std::string render(const ErrorDetail& detail) {
  std::string text = fmt::format("error[{}]: {}", detail.code, detail.what);
  const auto line = [&text](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    text += fmt::format("\n  {:<10}", label);
    for (const char c : value) {
      text += c;
      if (c == '\n') text.append(12, ' ');  // aligns the next line of the value with its first line
    }
  };
  line("where", detail.where);
  line("expected", detail.expected);
  line("found", detail.found);
  line("hint", detail.hint);
  return text;
}

Error::Error(ErrorDetail detail) : detail_(std::move(detail)), rendered_(render(detail_)) {}

ExitCode exit_code_for_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return ExitCode::kNoInput;
    case EACCES:
    case EPERM:
    case EROFS:
      return ExitCode::kNoPermission;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
      return ExitCode::kOsError;
    default:
      return ExitCode::kIoError;
  }
}

Error system_error(std::string_view code, std::string_view action, const std::string& where,
                   int error_number) {
  std::string hint;
  if (error_number == ENOSPC || error_number == EDQUOT) {
    hint = "free space, then run the same command again: it goes on after the last committed chunk";
  } else if (error_number == EACCES || error_number == EPERM) {
    hint = "check the permissions of the path and of the directories above it";
  } else if (error_number == EROFS) {
    hint = "the file system is mounted read-only; choose another directory";
  } else if (error_number == ENOENT) {
    hint = "check the path; relative paths start at the current directory";
  }
  return Error({.exit_code = exit_code_for_errno(error_number),
                .code = std::string(code),
                .what = fmt::format("cannot {}: {}", action, std::strerror(error_number)),
                .where = where,
                .expected = "",
                .found = "",
                .hint = std::move(hint)});
}

}  // namespace encode
