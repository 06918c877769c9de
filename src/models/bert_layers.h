// The layer of BERT (Devlin et al. 2019) and of the models that kept it: RoBERTa, CamemBERT,
// XLM-RoBERTa, ELECTRA, DistilBERT, ALBERT, MPNet. They differ in the names of its tensors.
#pragma once

#include <string>
#include <vector>

#include "models/config_fields.h"
#include "models/layers.h"

namespace encode {

// The names of a layer's tensors below the scope of the layer.
struct BertLayerNames {
  const char* query;
  const char* key;
  const char* value;
  const char* attention_out;
  const char* attention_norm;
  const char* mlp_up;
  const char* mlp_down;
  const char* mlp_norm;
};

// The names in the checkpoints of BERT, RoBERTa and ELECTRA.
inline constexpr BertLayerNames kBertLayerNames = {.query = "attention.self.query",
                                                   .key = "attention.self.key",
                                                   .value = "attention.self.value",
                                                   .attention_out = "attention.output.dense",
                                                   .attention_norm = "attention.output.LayerNorm",
                                                   .mlp_up = "intermediate.dense",
                                                   .mlp_down = "output.dense",
                                                   .mlp_norm = "output.LayerNorm"};

// One layer. Every projection has a bias.
PostNormLayer load_bert_layer(const ModuleLoader& layer, const EncoderConfig& config,
                              const BertLayerNames& names);
// num_hidden_layers layers below the scopes <prefix>0, <prefix>1, ...
std::vector<PostNormLayer> load_bert_layers(const ModuleLoader& root, const std::string& prefix,
                                            const EncoderConfig& config,
                                            const BertLayerNames& names);

// Tensors of BERT, RoBERTa and ELECTRA checkpoints that an embedding does not need, for
// Weights::expect_all_taken(): the pooler and the heads of pre-training. `prefix` is the prefix of
// checkpoints that have a head, such as "bert.".
std::vector<std::string> bert_leftovers(const std::string& prefix);

}  // namespace encode
