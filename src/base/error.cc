#include "encode/error.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <system_error>
#include <utility>

#include "base/file_system.h"
#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

constexpr size_t kMaxFieldBytes = 8192;

void make_printable(std::string& field) {
  const size_t size = field.size();
  if (size > kMaxFieldBytes) field.resize(kMaxFieldBytes);
  field = printable(field);
  if (size > kMaxFieldBytes) field += fmt::format("... ({} bytes)", size);
}

// Returns `detail` with fields that cannot harm a terminal, a log or a program that reads them.
// This is the last line of defence: the code that quotes a text of a file calls preview().
ErrorDetail shown(ErrorDetail detail) {
  for (std::string* field :
       {&detail.what, &detail.where, &detail.expected, &detail.found, &detail.hint})
    make_printable(*field);
  return detail;
}

}  // namespace

std::string render(const ErrorDetail& raw) {
  const ErrorDetail detail = shown(raw);
  std::string text = fmt::format("error[{}]: {}", detail.code.name(), detail.what);
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

Error::Error(ErrorDetail detail) : detail_(shown(std::move(detail))), rendered_(render(detail_)) {}

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
    case ESTALE:
    case ETIMEDOUT:
    case EREMOTEIO:
      return ExitCode::kTempFail;
    default:
      return ExitCode::kIoError;
  }
}

namespace {

struct Advice {
  const char* expected;
  const char* hint;
};

Advice advice_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return {
          "free space on the file system",
          "free space, then run the same command again (a run continues after its last committed "
          "chunk)"};
    case EFBIG:
      return {"a file that may grow this far",
              "raise the limit on the size of files (ulimit -f), or choose another file system"};
    case EACCES:
    case EPERM:
      return {"permission for this operation",
              "check the permissions of the path and of the directories above it"};
    case EROFS:
      return {"a file system that can be written", "choose another directory"};
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return {"a path that exists",
              "check the path; relative paths start at the current directory"};
    case EISDIR:
    case ENOTEMPTY:
    case EEXIST:
      return {"a file, or nothing, at this path",
              "see what is at the path, and move it away or choose another path"};
    case EMFILE:
    case ENFILE:
      return {"a free file descriptor", "raise the limit of open files (ulimit -n)"};
    case EAGAIN:
    case ENOMEM:
      return {"free memory and free processes", "free memory, or give the job more of it"};
    case ENAMETOOLONG:
      return {"a path that the file system accepts", "choose a shorter path"};
    case ESTALE:
    case ETIMEDOUT:
    case EREMOTEIO:
      return {"an answer of the network file system",
              "run the same command again; if it fails again, check the server and the mount of "
              "the file system"};
    default:
      return {"an operation that succeeds",
              "check the file system and the system log (dmesg), then run the same command again"};
  }
}

// Returns "; 4.1 kB are free" for the file system that the path is or would be on. Returns "" if
// that cannot be found out.
std::string free_space_at(const std::string& path) {
  FileSystem found;
  if (find_file_system(path, found) != 0) return "";
  if (found.no_more_files) return "; it can hold no more files (inodes)";
  return fmt::format("; {} are free", format_bytes(found.usable_bytes));
}

}  // namespace

Error system_error(ErrorCode code, std::string_view action, const std::string& where,
                   int error_number) {
  const Advice advice = advice_for(error_number);
  return Error({.code = code,
                .exit_code = exit_code_for_errno(error_number),
                .what = fmt::format("cannot {}: {}", action, std::strerror(error_number)),
                .where = where,
                .expected = advice.expected,
                .found = fmt::format("{} (errno {}){}", std::strerror(error_number), error_number,
                                     error_number == ENOSPC ? free_space_at(where) : ""),
                .hint = advice.hint,
                .error_number = error_number});
}

Error thread_error(const std::system_error& refused) {
  return Error({.code = "os.thread",
                .what = "the system refused a thread",
                .where = "encode",
                .expected = "memory for the stack of a thread, and a free place for it",
                .found = refused.code().message(),
                .hint = "raise the limits of the process (ulimit -v, ulimit -u, pids.max of the "
                        "control group), or give fewer --threads (hardware.threads)"});
}

ErrorDetail current_error() {
  const auto defect = [](const char* what) {
    return ErrorDetail{.code = "internal",
                       .exit_code = ExitCode::kInternal,
                       .what = what,
                       .where = "encode",
                       .expected = "no failure",
                       .found = "an unexpected exception",
                       .hint = kDefectHint};
  };
  try {
    throw;
  } catch (const Error& error) {
    return error.detail();
  } catch (const std::bad_alloc&) {
    return {.code = "os.memory",
            .what = "out of host memory",
            .where = "encode",
            .expected = "free host memory",
            .found = "a failed allocation",
            .hint = "give the job more memory; a run keeps its committed chunks"};
  } catch (const std::system_error& error) {
    // std::thread throws this error if the system refuses a thread.
    const bool refused = error.code() == std::errc::resource_unavailable_try_again;
    return refused ? thread_error(error).detail() : defect(error.what());
  } catch (const std::exception& error) {
    return defect(error.what());
  }
}

}  // namespace encode
