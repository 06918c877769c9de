// Describes the border between an ASCII letter and the space after it, as one stage of the pipeline
// leaves it. PrefixCut asks each stage.
#pragma once

namespace encode {

enum class WordBorder {
  kUnknown,    // the text after the letter may have an effect on the text before it
  kSpace,      // a letter and a space
  kMetaspace,  // a letter and U+2581
  kCut,        // a piece ends with the letter, so no token crosses the border
};

}  // namespace encode
