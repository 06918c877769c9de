#include "models/bert_layers.h"

namespace encode {

PostNormLayer load_bert_layer(const ModuleLoader& layer, const EncoderConfig& config,
                              const BertLayerNames& names) {
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

std::vector<PostNormLayer> load_bert_layers(const ModuleLoader& root, const std::string& prefix,
                                            const EncoderConfig& config,
                                            const BertLayerNames& names) {
  return root.layers(prefix, config.num_hidden_layers, load_bert_layer, config, names);
}

std::vector<std::string> bert_leftovers(const std::string& prefix) {
  return {"pooler.*",     prefix + "pooler.*",           "cls.*",
          "lm_head.*",    "discriminator_predictions.*", "generator_predictions.*",
          "classifier.*", "generator_lm_head.*",         "embeddings.position_ids"};
}

}  // namespace encode
