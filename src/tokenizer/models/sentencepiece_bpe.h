// Tokenizes with sentencepiece BPE models without the sentencepiece library. This is supported for
// models that normalize only the spaces of a text (Llama 2, Mistral, Gemma).
#pragma once

#include <memory>

#include "encode/tokenizer.h"

#include "tokenizer/models/sentencepiece_model.h"
#include "tokenizer/pipeline.h"

namespace encode {

// Returns null if the model needs the library: for example, it is of another kind, or it has a
// charsmap or unused pieces. The tokenizer copies what it needs of `model` and the file behind it.
// Does not throw Error.
std::unique_ptr<Tokenizer> make_sentencepiece_bpe(const SentencePieceModel& model,
                                                  const RowForm& form);

}  // namespace encode
