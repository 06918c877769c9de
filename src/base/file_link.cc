#include "base/file_link.h"

#include <cerrno>
#include <string_view>
#include <unistd.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/system_call.h"

namespace encode {

bool link_or_copy(const std::string& from, const std::string& to) {
  if (retried([&] { return ::link(from.c_str(), to.c_str()); }) == 0) return true;
  const int error_number = errno;
  if (error_number == EEXIST) throw system_error("io.create", "create", to, error_number);
  // Every other failure is left to the copy, whose error says what is wrong.
  try {
    const UniqueFd fd = open_for_reading(from, "io.read");
    AtomicFile copy(to, 0);
    for_blocks(fd, file_size(fd, from), from,
               [&](std::string_view block) { copy.write(block.data(), block.size()); });
    copy.commit();
    return true;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) return false;
    throw;
  }
}

}  // namespace encode
