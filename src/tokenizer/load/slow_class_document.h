// Makes a tokenizer from files that are older than tokenizer.json.
#pragma once

#include "encode/tokenizer_file.h"

#include "tokenizer/load/slow_class_options.h"
#include "tokenizer/load/slow_class_rules.h"
#include "tokenizer/load/slow_class_tokens.h"
#include "tokenizer/load/tokenizer_document.h"

namespace encode {

// Makes the document that transformers 4.57.6 makes for a directory without tokenizer.json: from a
// sentencepiece model, vocab.txt, or vocab.json and merges.txt. transformers makes the slow
// (Python) tokenizer of the class and converts it. Throws Error (kConfig): "tokenizer.unsupported"
// if the class has no rules or its file is missing, or for a file that is not supported, and
// "tokenizer.format" for a malformed file.
TokenizerDocument make_slow_class_document(const TokenizerSource& source);

// The input of the functions below, which make the parts of a document.
struct SlowClassParts {
  const TokenizerSource& source;
  const SlowClassRules& rules;
  const SlowClassOptions& options;
  const SlowClassTokens& tokens;
};

// Fills in the model, the normalizer and the pre-tokenizer from a sentencepiece model. Returns the
// added tokens that the model states. Throws Error (kConfig) that names `document.where`.
std::vector<AddedToken> fill_from_sentencepiece(const SlowClassParts& parts,
                                                TokenizerDocument& document);
// Does the same for vocab.txt, and for vocab.json with merges.txt.
void fill_from_vocabulary(const SlowClassParts& parts, TokenizerDocument& document);

}  // namespace encode
