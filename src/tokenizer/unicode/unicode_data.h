// The generated tables of unicode.h. Only unicode.cc includes this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace encode::unicode {

extern const uint32_t kRunStarts[];  // ascending, the first is 0
extern const size_t kRunStartsSize;
extern const uint32_t kRunValues[];  // Property bits, canonical combining class << 24
extern const size_t kRunValuesSize;

// Mappings: key i maps to pool[offsets[i], offsets[i + 1]). The keys ascend.
extern const uint32_t kCanonicalKeys[];  // full canonical decompositions without Hangul syllables
extern const size_t kCanonicalKeysSize;
extern const uint16_t kCanonicalOffsets[];
extern const size_t kCanonicalOffsetsSize;
extern const uint32_t kCanonicalPool[];
extern const size_t kCanonicalPoolSize;
// Full compatibility decompositions that differ from the canonical ones.
extern const uint32_t kCompatibilityKeys[];
extern const size_t kCompatibilityKeysSize;
extern const uint16_t kCompatibilityOffsets[];
extern const size_t kCompatibilityOffsetsSize;
extern const uint32_t kCompatibilityPool[];
extern const size_t kCompatibilityPoolSize;
extern const uint32_t kLowerKeys[];
extern const size_t kLowerKeysSize;
extern const uint16_t kLowerOffsets[];
extern const size_t kLowerOffsetsSize;
extern const uint32_t kLowerPool[];
extern const size_t kLowerPoolSize;

// Runs [start, end) of code points. Their general category has changed since Unicode 14.
extern const uint32_t kNewerStarts[];
extern const size_t kNewerStartsSize;
extern const uint32_t kNewerEnds[];
extern const size_t kNewerEndsSize;
extern const uint32_t kNewerSubstitutes[];
extern const size_t kNewerSubstitutesSize;

extern const uint64_t kCompositionKeys[];  // first << 32 | second, ascending
extern const size_t kCompositionKeysSize;
extern const uint32_t kCompositionValues[];
extern const size_t kCompositionValuesSize;

}  // namespace encode::unicode
