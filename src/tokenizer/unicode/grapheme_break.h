// Extended grapheme clusters: what a reader takes for one character (UAX #29).
#pragma once

#include <cstddef>
#include <string_view>

namespace encode::unicode {

// Returns the end of the grapheme cluster that begins at `begin`, which must be less than the size
// of `utf8`. `utf8` must be valid UTF-8. `begin` may also be an ASCII character inside a cluster:
// what is before it has no influence on where the cluster ends. Any number of threads may call it.
// Throws no Error.
size_t cluster_end(std::string_view utf8, size_t begin);

}  // namespace encode::unicode
