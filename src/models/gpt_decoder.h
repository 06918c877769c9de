// The parts that the decoders with LayerNorm share: the fields of config.json, the layouts of their
// weights, and the MLP. gpt2.cc and gpt_neox.cc have the layers.
#pragma once

#include <cstdint>
#include <string>

#include "models/config_fields.h"
#include "models/layers.h"
#include "models/model.h"

namespace encode {

// The names of the fields of config.json, which differ from family to family.
struct GptKeys {
  const char* norm_eps;
  const char* activation;
};
// The names in GPT-2, GPT-Neo, BLOOM and GPT-J.
inline constexpr GptKeys kGpt2Keys = {.norm_eps = "layer_norm_epsilon",
                                      .activation = "activation_function"};

// The fields that all these architectures have. Throws Error "model.config" if a field is out of
// the range that model_dir/limits.h states.
struct GptConfig : ModelSizes {
  AttentionShape attention;
  double layer_norm_eps;  // default 1e-5, as in all their classes in transformers
  Activation hidden_act;

  GptConfig(const ModelSource& source, const GptKeys& keys, Activation default_act);

  Dim hidden() const { return attention.hidden(); }
  Dim inner() const { return {"intermediate_size", intermediate_size}; }
  // Returns the window of a layer without a sliding window.
  AttentionWindow full() const { return causal ? AttentionWindow::causal() : AttentionWindow{}; }
};

// The widths of a Conv1D.
struct Conv1dShape {
  Dim out;
  Dim in;
};

// Loads a layer that the checkpoint stores as a Conv1D of GPT-2. The weight of a Conv1D is [in,
// out], the transpose of the weight of a linear layer.
Linear load_conv1d(const ModuleLoader& scope, const std::string& name, const Conv1dShape& shape,
                   Activation activation = Activation::kNone);

// Loads the layer `name` that makes queries, keys and values head by head: its outputs are [heads,
// 3, head_dim] (BLOOM, GPT-NeoX). Changes the order to [3, heads, head_dim], which SelfAttention
// needs. The model must have as many heads of keys and values as of queries.
Linear load_qkv_by_head(const ModuleLoader& scope, const std::string& name,
                        const AttentionShape& shape, bool bias);

// Loads q_proj, k_proj and v_proj without biases for a model whose rotation pairs neighbouring
// elements of a head, 2i and 2i + 1, among the first `rotated` elements (GPT-J). Changes the order
// of the rows for rotate(), which pairs elements i and rotated / 2 + i. The scores stay the same,
// because the elements of queries and keys get the same new order.
Linear load_qkv_of_neighbours(const ModuleLoader& scope, const AttentionShape& shape,
                              int64_t rotated);

// The names of the tensors of MLP(x) = down(hidden_act(up(x))). Both layers have a bias.
struct MlpNames {
  const char* up;
  const char* down;
};
FeedForward load_mlp(const ModuleLoader& mlp, const MlpNames& names, const GptConfig& config);

}  // namespace encode
