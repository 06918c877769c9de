// Translates Oniguruma's regular expressions to PCRE2's, as far as split patterns use them.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// Returns the same pattern for PCRE2 (with UTF and UCP). If the two libraries are not known to
// agree on a construct, throws Error (kConfig) that names it, because a silent difference would
// give wrong vectors that nobody notices. `where` names the place in the file for the message. The
// code is "tokenizer.unsupported".
std::string translate_regex(std::string_view regex, const std::string& where);

}  // namespace encode
