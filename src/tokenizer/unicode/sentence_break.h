// Sentences as the default rules of UAX #29 find them (SB1 to SB998).
#pragma once

#include <cstddef>
#include <string_view>

namespace encode::unicode {

// Returns the end of the sentence that begins at `begin`, which must be less than the size of
// `utf8`. The white space after a sentence belongs to it. `utf8` must be valid UTF-8, and `begin`
// must be 0 or the end of a sentence. The sentences of a text take time in proportion to its size.
// Any number of threads may call it. Throws no Error.
size_t sentence_end(std::string_view utf8, size_t begin);

}  // namespace encode::unicode
