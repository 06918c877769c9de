// Loads a model without its encoder, for load_encoder() and ProductBench.
#pragma once

#include <vector>

#include "encode/model_directory.h"

#include "engine/load_encoder.h"
#include "engine/transformer.h"

namespace encode {

struct LoadedTransformer {
  Transformer transformer;
  std::vector<LoadNote> notes;
};

// Loads the model of `directory` onto the device. If the directory was opened with the hashes of
// its files, checks that the tensors come from the files that were hashed. Throws what
// load_encoder() throws.
LoadedTransformer load_transformer(const ModelDirectory& directory,
                                   const EffectiveResult& effective, const EncoderOptions& options);

}  // namespace encode
