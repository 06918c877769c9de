// The generated table behind break_table.h. Only break_table.cc and tests of the version include
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace encode::unicode {

extern const char* const kBreakVersion;  // the version of Unicode

extern const uint32_t kBreakStarts[];  // the first code point of each run, ascending from 0
extern const size_t kBreakStartsSize;
extern const uint8_t kBreakValues[];  // SentenceClass | ClusterClass << 4
extern const size_t kBreakValuesSize;

}  // namespace encode::unicode
