// Changes the document of a tokenizer by what the files beside it state and by the rules of its
// class, as AutoTokenizer of transformers does.
#pragma once

#include "encode/tokenizer_file.h"

#include "tokenizer/load/tokenizer_document.h"

namespace encode {

// Changes `document`, which was made from `source`, and returns the options to build it with.
// Throws Error kConfig: "tokenizer.format" if a file is malformed, "tokenizer.unsupported" for a
// class whose rules encode does not know, and "tokenizer.contradiction" if files contradict each
// other and no rule decides.
BuildOptions amend_document(const TokenizerSource& source, TokenizerDocument& document);

}  // namespace encode
