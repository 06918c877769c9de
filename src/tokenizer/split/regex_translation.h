// Oniguruma's regular expressions, as far as split patterns use them, spelled for PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// The same pattern for PCRE2 (UTF, UCP). Throws Error (kConfig) that names the construct where the
// two are not known to agree: a silent difference would be a silent wrong vector.
std::string translate_regex(std::string_view regex, const std::string& where);

}  // namespace encode
