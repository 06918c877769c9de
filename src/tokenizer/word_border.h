// Describes what a stage of the tokenizer leaves at the border between an ASCII letter and the
// space after it. PrefixCut asks each stage.
#pragma once

namespace encode {

enum class WordBorder {
  kUnknown,    // the text after the letter may have an effect on the text before it
  kSpace,      // the border is between a letter and a space
  kMetaspace,  // the border is between a letter and U+2581
  kCut,        // a piece ends with the letter, so no token crosses the border
};

}  // namespace encode
