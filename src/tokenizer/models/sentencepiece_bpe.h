// sentencepiece's BPE without libsentencepiece, for models that leave text as it is but for spaces
// (Llama 2, Mistral, Gemma).
#pragma once

#include <memory>

#include "encode/tokenizer.h"

#include "tokenizer/models/sentencepiece_model.h"
#include "tokenizer/pipeline.h"

namespace encode {

// Null where the model needs anything else: another kind, a charsmap, pieces that are unused, ..
std::unique_ptr<Tokenizer> make_sentencepiece_bpe(const SentencePieceModel& model,
                                                  const SpecialTokens& special);

}  // namespace encode
