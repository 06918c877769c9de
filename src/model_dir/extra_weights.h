// The fields of config.json that describe weights of only one family. The loaders and model_sizes()
// read them with these functions. All throw Error kConfig "model.config" if a field is out of range
// or does not fit another one. Any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "model_dir/model_sizes.h"

namespace encode {

// Adds the weights that `kind` names to the sizes of the usual layers. `config` is the whole
// config.json.
void add_extra_weights(ExtraWeights kind, const JsonFields& config, ModelSizes& sizes);

// ALBERT's num_hidden_layers steps go through num_hidden_groups groups of inner_group_num layers.
struct SharedLayers {
  int64_t groups;
  int64_t group_layers;
};
SharedLayers shared_layers(const JsonFields& config, int64_t num_hidden_layers);

// Returns the number of rows of ERNIE's table of tasks, 0 without use_task_id. The default is that
// of ErnieConfig.
int64_t ernie_task_types(const JsonFields& config);

// The rows of MPNet's table of relative biases. They are a constant, because the reference code
// ignores relative_attention_num_buckets.
inline constexpr int64_t kMpNetBuckets = 32;
// Returns feed_forward_proj. The default is that of T5Config, or of MT5Config and UMT5Config if the
// MLP is kGatedUnlessStated.
std::string t5_feed_forward(MlpForm mlp, const JsonFields& config);
// Returns the number of rows of T5's table of relative biases.
int64_t t5_buckets(const JsonFields& config);

// DeBERTa's positions. The defaults are those of DebertaConfig and DebertaV2Config in transformers.
struct DisentangledPositions {
  std::vector<std::string> terms;  // pos_att_type
  bool content_to_position;        // pos_att_type has "c2p"
  bool position_to_content;        // pos_att_type has "p2c"
  bool share_att_key;              // positions use the projections of the content
  int64_t span;                    // half the number of rows in the table of relative positions
  int64_t max_distance;  // the end of the logarithmic buckets; 0: a bucket for each distance

  explicit DisentangledPositions(const JsonFields& config);
};

// Returns the width of LFM2's gated MLP. If block_auto_adjust_ff_dim is false, config.json states
// this width. Otherwise config.json states the width of a plain MLP. The gated MLP then has two
// thirds of this width, times block_ffn_dim_multiplier, rounded up to a multiple of
// block_multiple_of. The fields and their defaults are those of Lfm2Config and Lfm2MLP in
// transformers.
int64_t lfm2_intermediate_size(const JsonFields& config);
// Returns for each layer of LFM2 whether it has attention. layer_types decides if it is present,
// otherwise full_attn_idxs. Without both fields all layers have attention, as in Lfm2Config in
// transformers.
std::vector<bool> lfm2_attention(const JsonFields& config, int64_t layers);
// Returns the number of taps of LFM2's convolutions.
int64_t lfm2_taps(const JsonFields& config);

// Which layers of Qwen3-MoE have experts, and how they are chosen. The defaults are those of
// Qwen3MoeConfig in transformers. Version 5 of transformers writes num_local_experts instead of
// num_experts.
struct QwenExperts {
  int64_t count;
  int64_t top_k;
  int64_t intermediate_size;   // of one expert
  std::vector<bool> in_layer;  // for each layer

  QwenExperts(const JsonFields& config, int64_t layers);
};

// The experts in the layers of NomicBERT that have a router.
struct NomicExperts {
  int64_t count;  // 0: no layer has a router
  int64_t top_k;
};
NomicExperts nomic_experts(const JsonFields& config);

// The fields of NV-Embed's latent_attention_config. The defaults are those of LatentAttentionConfig
// in the reference.
struct LatentSizes {
  int64_t hidden;  // hidden_dim, the width of the tokens; latent_dim must be equal
  int64_t latents;
  int64_t heads;
  int64_t head_dim;

  explicit LatentSizes(const JsonFields& config);  // the whole config.json
  int64_t inner_width() const { return heads * head_dim; }
};

}  // namespace encode
