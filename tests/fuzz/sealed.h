// Gives fuzzed texts the checksum that sealed JSON needs, so that a fuzzer reaches the fields.
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"

namespace encode::testing {

// Puts a valid checksum in the place of the first byte, which is '{' in a JSON object. A newline at
// the end is not part of the object.
inline std::string sealed(std::string_view text) {
  const bool ends = text.ends_with('\n');
  if (ends) text.remove_suffix(1);
  const std::string rest(text.substr(text.empty() ? 0 : 1));
  return "{\"checksum\":\"" + xxh3_hex(rest) + "\"," + rest + (ends ? "\n" : "");
}

}  // namespace encode::testing
