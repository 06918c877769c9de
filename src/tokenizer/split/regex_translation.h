// Translates regular expressions from the syntax of Oniguruma to the syntax of PCRE2. Only the
// constructs that split patterns use are supported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace encode {

struct TranslatedRegex {
  std::string pattern;
  std::vector<size_t> origins;  // for each byte of `pattern`, the offset in the regex it comes from
};

// Returns the same pattern for PCRE2 (with UTF and UCP). If the two libraries are not known to
// agree on a construct, throws Error (kConfig) that names it, because a silent difference would
// give wrong vectors that nobody notices. `where` names the place in the file for the message. The
// code is "tokenizer.unsupported".
TranslatedRegex translate_regex(std::string_view regex, const std::string& where);

}  // namespace encode
