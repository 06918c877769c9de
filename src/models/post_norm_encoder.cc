#include "models/post_norm_encoder.h"

namespace encode {

PostNormLayer load_post_norm_layer(const ModuleLoader& layer, const EncoderConfig& config,
                                   const PostNormNames& names) {
  const AttentionShape shape = config.attention();
  return {.attention = {layer.fused({{names.query, shape.query()},
                                     {names.key, shape.key_value()},
                                     {names.value, shape.key_value()}},
                                    config.hidden(), {}),
                        layer.linear(names.attention_out, config.hidden(), shape.query()), shape},
          .attention_norm =
              layer.layer_norm(names.attention_norm, config.hidden(), config.layer_norm_eps),
          .mlp = {layer.linear(names.mlp_up, config.inner(), config.hidden(),
                               {.activation = config.hidden_act}),
                  layer.linear(names.mlp_down, config.hidden(), config.inner())},
          .mlp_norm = layer.layer_norm(names.mlp_norm, config.hidden(), config.layer_norm_eps)};
}

std::vector<PostNormLayer> load_post_norm_layers(const ModuleLoader& root,
                                                 const std::string& prefix,
                                                 const EncoderConfig& config,
                                                 const PostNormNames& names) {
  return root.layers(prefix, config.num_hidden_layers, load_post_norm_layer, config, names);
}

at::Tensor PostNormEncoder::forward(const PackedInput& batch) const {
  at::Tensor x = parts_.embeddings(batch);
  if (parts_.projection) x = (*parts_.projection)(x);
  return run_layers(parts_.layers, x,
                    {.batch = batch, .relative = parts_.relative ? &*parts_.relative : nullptr});
}

}  // namespace encode
