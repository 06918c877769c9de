// Describes the border between an ASCII letter and the space after it at one stage of the pipeline.
// prefix_cut.h asks each stage for it.
#pragma once

namespace encode {

enum class WordBorder {
  kUnknown,    // what follows the letter may have an effect on what is before it
  kSpace,      // a letter and a space
  kMetaspace,  // a letter and U+2581
  kCut,        // a piece ends with the letter: the model sees nothing across the border
};

}  // namespace encode
