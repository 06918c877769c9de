// What stands at a border between words, an ASCII letter and the space after it, on its way through
// the pipeline. prefix_cut.h asks each stage for it.
#pragma once

namespace encode {

enum class WordBorder {
  kUnknown,    // what follows the letter may have an effect on what is before it
  kSpace,      // letter, space
  kMetaspace,  // letter, U+2581
  kCut,        // the letter ends a piece: the model sees nothing across
};

}  // namespace encode
