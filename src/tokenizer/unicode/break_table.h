// The properties of code points that decide where a text can be cut (UAX #29), from one version of
// the Unicode Character Database. The other tables of this folder are made from the behaviour of
// Hugging Face `tokenizers`, because ids depend on them; these are not. Any number of threads may
// call these functions. They throw no Error.
#pragma once

#include <cstdint>

#include "tokenizer/unicode/code_point_table.h"

namespace encode::unicode {

// The order of both enums must be the order in scripts/generate/unicode_breaks.py.
enum class SentenceClass : uint8_t {
  kOther,
  kCr,
  kLf,
  kSep,
  kExtend,
  kFormat,
  kSp,
  kLower,
  kUpper,
  kOLetter,
  kNumeric,
  kATerm,
  kSContinue,
  kSTerm,
  kClose
};
enum class ClusterClass : uint8_t {
  kOther,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kRegionalIndicator,
  kPrepend,
  kSpacingMark,
  kL,
  kV,
  kT,
  kLv,
  kLvt,
  kPictographic
};

// Returns the table, which is made at the first call and lives as long as the process.
const CodePointTable<uint8_t>& break_table();
inline SentenceClass sentence_class(uint8_t value) {
  return static_cast<SentenceClass>(value & 0xFU);
}
inline ClusterClass cluster_class(uint8_t value) { return static_cast<ClusterClass>(value >> 4U); }

}  // namespace encode::unicode
