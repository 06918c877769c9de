#include "base/random.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/random.h>

#include "encode/error.h"

#include "base/hash.h"
#include "base/system_call.h"

namespace encode {

std::string random_hex() {
  std::array<std::byte, 8> bytes = {};
  if (retried([&] { return ::getrandom(bytes.data(), bytes.size(), 0); }) !=
      static_cast<ssize_t>(bytes.size()))
    throw system_error("io.read", "read", "random bytes (getrandom)", errno);
  return hex_of(bytes);
}

}  // namespace encode
