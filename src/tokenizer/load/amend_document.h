// Changes the document of a tokenizer by what the files beside it state and by the rules of its
// class, as AutoTokenizer of transformers does.
#pragma once

#include "encode/tokenizer_file.h"

#include "base/json.h"
#include "tokenizer/load/tokenizer_document.h"

namespace encode {

// Returns the content of tokenizer_config.json, an empty object if there is none. Throws Error
// kConfig "tokenizer.format" if it is not JSON.
Json read_tokenizer_config(const TokenizerSource& source);

// Changes `document`, which was made from `source`, and returns the options to build it with.
// Throws Error kConfig: "tokenizer.format" if a file is malformed, "tokenizer.unsupported" for a
// class whose rules encode does not know, and "tokenizer.contradiction" if files contradict each
// other and no rule decides.
BuildOptions amend_document(const TokenizerSource& source, TokenizerDocument& document);

// Returns the options that tokenizer_config.json and the class of the tokenizer state, for a
// document that needs no amendment. Throws Error kConfig "tokenizer.format" if the file is
// malformed.
BuildOptions stated_build_options(const TokenizerSource& source);

}  // namespace encode
