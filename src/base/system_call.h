// Repeats a system call that a signal has interrupted. Any thread may call it. It throws only what
// `call` throws.
#pragma once

#include <cerrno>

namespace encode {

// Returns the result of `call`, and calls it again as long as it returns -1 and errno is EINTR. All
// code that opens, reads, writes or syncs a file calls the system in this way. It must not be used
// for close(): see UniqueFd::close().
template <typename Call>
auto retried(const Call& call) -> decltype(call()) {
  while (true) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace encode
