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
  std::vector<PostNormLayer> layers;
  for (int64_t i = 0; i < config.num_hidden_layers; ++i)
    layers.push_back(load_post_norm_layer(root.scope(prefix + std::to_string(i)), config, names));
  return layers;
}

at::Tensor PostNormEncoder::forward(const PackedInput& batch) const {
  at::Tensor x = parts_.embeddings(batch);
  if (parts_.projection) x = (*parts_.projection)(x);
  const LayerContext context = {.batch = batch,
                                .relative = parts_.relative ? &*parts_.relative : nullptr};
  for (const PostNormLayer& layer : parts_.layers)
    x = layer.forward(x, &layer == &parts_.layers.back() ? last_layer(context) : context);
  return x;
}

}  // namespace encode
