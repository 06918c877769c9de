// What load_encoder() is made of, for those who need the model itself.
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

// Throws as load_encoder().
LoadedTransformer load_transformer(const ModelDirectory& directory,
                                   const EffectiveResult& effective,
                                   const HardwareOptions& hardware);

}  // namespace encode
