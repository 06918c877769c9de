// Translates regular expressions from the syntax of Oniguruma to the syntax of PCRE2. Only the
// constructs that split patterns use are supported.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// Returns a pattern for PCRE2 (with the options UTF and UCP) that means the same as `regex`. Throws
// Error (kConfig) that names the construct if the two libraries are not known to agree about it,
// because a difference would give wrong vectors that nobody notices.
std::string translate_regex(std::string_view regex, const std::string& where);

}  // namespace encode
