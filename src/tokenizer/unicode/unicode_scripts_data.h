// The generated table of scripts behind unicode.h. Only unicode.cc includes this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace encode::unicode {

extern const uint32_t kScriptStarts[];  // the first code point of each run, ascending from 0
extern const size_t kScriptStartsSize;
extern const uint8_t kScriptValues[];
extern const size_t kScriptValuesSize;

}  // namespace encode::unicode
