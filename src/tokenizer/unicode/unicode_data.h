// The generated tables behind unicode.h. Only unicode.cc includes this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace encode::unicode {

extern const uint32_t kRunStarts[];  // the first code point of each run, ascending from 0
extern const size_t kRunStartsSize;
extern const uint32_t kRunValues[];  // the bits of Property | canonical combining class << 24
extern const size_t kRunValuesSize;

// The mappings. Key i maps to the code points pool[offsets[i]] up to, but not including,
// pool[offsets[i + 1]]. The keys ascend.
extern const uint32_t kCanonicalKeys[];  // full canonical decompositions, except of Hangul
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

// Runs of code points with a general category that has changed since Unicode 14. Run i goes from
// start i up to, but not including, end i.
extern const uint32_t kNewerStarts[];
extern const size_t kNewerStartsSize;
extern const uint32_t kNewerEnds[];
extern const size_t kNewerEndsSize;
extern const uint32_t kNewerSubstitutes[];
extern const size_t kNewerSubstitutesSize;

extern const uint64_t kCompositionKeys[];  // first code point << 32 | second, ascending
extern const size_t kCompositionKeysSize;
extern const uint32_t kCompositionValues[];
extern const size_t kCompositionValuesSize;

}  // namespace encode::unicode
