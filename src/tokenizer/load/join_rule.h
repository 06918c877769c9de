// Decides whether the ids of a text can be joined from the ids of its parts.
#pragma once

#include "tokenizer/load/tokenizer_document.h"
#include "tokenizer/pipeline.h"

namespace encode {

// Returns PipelineParts::joins for the other parts, which were built from `document`. It names only
// places across which the components are known to look at nothing. Does not throw Error.
JoinPlaces join_places(const TokenizerDocument& document, const PipelineParts& parts);

}  // namespace encode
