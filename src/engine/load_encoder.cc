#include "engine/load_encoder.h"

#include <utility>

#include "engine/load_transformer.h"

namespace encode {

LoadedEncoder load_encoder(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options) {
  LoadedTransformer loaded = load_transformer(directory, effective, options);
  Transformer& transformer = loaded.transformer;
  return {.encoder = transformer.device.is_cpu()
                         ? make_cpu_encoder(std::move(transformer), options.threads)
                         : make_cuda_encoder(std::move(transformer)),
          .notes = std::move(loaded.notes)};
}

}  // namespace encode
