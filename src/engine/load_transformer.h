// Loads a model without its encoder, for load_encoder() and ProductBench.
#pragma once

#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "engine/load_encoder.h"
#include "engine/transformer.h"

namespace encode {

struct LoadedTransformer {
  Transformer transformer;
  std::vector<LoadNote> notes;
};

// Loads the model of `directory` onto the device. Proves that the tensors are those of the files
// that were hashed, if the directory was opened with their hashes. Throws what load_encoder()
// throws.
LoadedTransformer load_transformer(const ModelDirectory& directory,
                                   const EffectiveResult& effective, const EncoderOptions& options);

}  // namespace encode
