#include "model_dir/extra_weights.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "encode/error.h"

#include "base/units.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

int64_t count_of(const std::vector<bool>& layers) {
  return std::count(layers.begin(), layers.end(), true);
}

// pos_att_type is a list. In older files it is a string with the names separated by bars.
std::vector<std::string> position_terms(const JsonFields& config) {
  std::vector<std::string> terms;
  if (!config.has("pos_att_type")) return terms;
  try {
    for (const Json& name : config.array("pos_att_type"))
      terms.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  } catch (const Error&) {
    std::istringstream names(config.string("pos_att_type"));
    for (std::string name; std::getline(names, name, '|');) terms.push_back(name);
  }
  return terms;
}

// Loading applies the projections to the relative positions and keeps only the results.
void add_disentangled(const JsonFields& config, ModelSizes& sizes) {
  const DisentangledPositions positions(config);
  if (!sizes.relative()) return;
  const int64_t rows = 2 * positions.span;
  const int64_t projected = sizes.num_hidden_layers * ((positions.content_to_position ? 1 : 0) +
                                                       (positions.position_to_content ? 1 : 0));
  const int64_t projections =
      positions.share_att_key ? 0 : projected * sizes.query_width() * sizes.hidden_size;
  const int64_t kept = projected * rows * sizes.query_width();
  sizes.extra_table_elements = kept;
  sizes.folded_elements = rows * sizes.hidden_size + projections - kept;
}

void add_convolutions(const JsonFields& config, ModelSizes& sizes) {
  sizes.attention_layers = count_of(lfm2_attention(config, sizes.num_hidden_layers));
  const int64_t convolutions = sizes.num_hidden_layers - sizes.attention_layers;
  const int64_t hidden = sizes.hidden_size;
  sizes.extra_matrices = {{3 * hidden, hidden, convolutions}, {hidden, hidden, convolutions}};
  sizes.extra_table_elements = convolutions * hidden * lfm2_taps(config);
}

// The layers that have a router and experts. If the experts have a gate, `up` includes it.
struct ExpertLayers {
  int64_t layers;
  int64_t count;
  int64_t top_k;
  int64_t up;
  int64_t down;
};

void add_experts(const ExpertLayers& experts, ModelSizes& sizes) {
  const int64_t all = experts.layers * experts.count;
  const int64_t used = experts.layers * experts.top_k;
  sizes.mlp_layers = sizes.num_hidden_layers - experts.layers;
  sizes.extra_matrices = {{experts.count, sizes.hidden_size, experts.layers},
                          {experts.up, sizes.hidden_size, all, used},
                          {sizes.hidden_size, experts.down, all, used}};
}

void add_qwen_experts(const JsonFields& config, ModelSizes& sizes) {
  const QwenExperts experts(config, sizes.num_hidden_layers);
  add_experts({.layers = count_of(experts.in_layer),
               .count = experts.count,
               .top_k = experts.top_k,
               .up = 2 * experts.intermediate_size,
               .down = experts.intermediate_size},
              sizes);
}

void add_nomic_experts(const JsonFields& config, ModelSizes& sizes) {
  const NomicExperts experts = nomic_experts(config);
  if (experts.count == 0) return;
  // The layers i with i % step = 1 have a router. With step 1 there is no such i; the checkpoint
  // then decides.
  const int64_t step = config.integer_or("moe_every_n_layers", 1, 1, kMaxLayers);
  const int64_t layers = sizes.num_hidden_layers;
  add_experts({.layers = step > 1 ? (layers + step - 2) / step : layers,
               .count = experts.count,
               .top_k = experts.top_k,
               .up = sizes.intermediate_size,
               .down = sizes.intermediate_size},
              sizes);
}

// Loading folds the projections of the latents into two products. The MLP is gated, and its width
// is 4 x hidden_dim.
void add_latent_attention(const JsonFields& config, ModelSizes& sizes) {
  const LatentSizes latent(config);
  const int64_t scores = latent.heads * latent.latents;
  sizes.extra_matrices = {{scores, latent.hidden},
                          {latent.hidden, scores},
                          {8 * latent.hidden, latent.hidden},
                          {latent.hidden, 4 * latent.hidden}};
  constexpr int64_t kProjections = 4;  // of queries, keys, values and the result
  sizes.folded_elements =
      (latent.latents + kProjections * latent.inner_width() - 2 * scores) * latent.hidden;
}

}  // namespace

void add_extra_weights(ExtraWeights kind, const JsonFields& config, ModelSizes& sizes) {
  switch (kind) {
    case ExtraWeights::kNone:
      return;
    case ExtraWeights::kSharedLayers: {
      const SharedLayers shared = shared_layers(config, sizes.num_hidden_layers);
      sizes.stored_layers = shared.groups * shared.group_layers;
      sizes.attention_layers = sizes.mlp_layers = sizes.stored_layers;
      return;
    }
    case ExtraWeights::kTaskTypes:
      sizes.extra_table_elements = ernie_task_types(config) * sizes.embedding_size;
      return;
    case ExtraWeights::kDisentangled:
      return add_disentangled(config, sizes);
    case ExtraWeights::kMpNetBuckets:
      sizes.extra_table_elements = kMpNetBuckets * sizes.num_attention_heads;
      return;
    case ExtraWeights::kBuckets:
      sizes.extra_table_elements = t5_buckets(config) * sizes.num_attention_heads;
      return;
    case ExtraWeights::kBucketsOfEachLayer:
      sizes.extra_table_elements =
          sizes.num_hidden_layers * t5_buckets(config) * sizes.num_attention_heads;
      return;
    case ExtraWeights::kShortConvolutions:
      return add_convolutions(config, sizes);
    case ExtraWeights::kExperts:
      return add_qwen_experts(config, sizes);
    case ExtraWeights::kEveryNthLayerExperts:
      return add_nomic_experts(config, sizes);
    case ExtraWeights::kLatentAttention:
      return add_latent_attention(config, sizes);
  }
}

SharedLayers shared_layers(const JsonFields& config, int64_t num_hidden_layers) {
  return {.groups = config.integer_or("num_hidden_groups", 1, 1, num_hidden_layers),
          .group_layers = config.integer_or("inner_group_num", 1, 1, kMaxLayers)};
}

int64_t ernie_task_types(const JsonFields& config) {
  if (!config.boolean_or("use_task_id", false)) return 0;
  return config.integer_or("task_type_vocab_size", 3, 1, kMaxTokenTypes);
}

std::string t5_feed_forward(MlpForm mlp, const JsonFields& config) {
  return config.string_or("feed_forward_proj",
                          mlp == MlpForm::kGatedUnlessStated ? "gated-gelu" : "relu");
}

int64_t t5_buckets(const JsonFields& config) {
  return config.integer_or("relative_attention_num_buckets", 32, 4, kMaxRelativePositions);
}

DisentangledPositions::DisentangledPositions(const JsonFields& config)
    : terms(position_terms(config)),
      content_to_position(std::ranges::find(terms, "c2p") != terms.end()),
      position_to_content(std::ranges::find(terms, "p2c") != terms.end()),
      share_att_key(config.boolean_or("share_att_key", false)) {
  int64_t positions = config.integer_or("max_relative_positions", -1, -1, kMaxRelativePositions);
  if (positions < 1)
    positions = config.integer_or("max_position_embeddings", 512, 0, kMaxPositions);
  const int64_t buckets = config.integer_or("position_buckets", -1, -1, kMaxRelativePositions);
  span = buckets > 0 ? buckets : positions;
  max_distance = buckets > 0 ? positions : 0;
  if (buckets == 1) config.refuse("position_buckets", "at least 2", "1");
  if (span < 1) config.refuse("max_position_embeddings", "at least 1", "0");
}

int64_t lfm2_intermediate_size(const JsonFields& config) {
  const int64_t stated = config.integer(
      config.has("block_ff_dim") ? "block_ff_dim" : "intermediate_size", 1, kMaxIntermediateSize);
  if (!config.boolean_or("block_auto_adjust_ff_dim", true)) return stated;
  const double factor = config.number_or("block_ffn_dim_multiplier", 1, kMinScaling, kMaxScaling);
  const int64_t multiple = config.integer_or("block_multiple_of", 256, 1, kMaxIntermediateSize);
  const int64_t two_thirds = 2 * stated / 3;
  const auto width = static_cast<int64_t>(factor * static_cast<double>(two_thirds));
  return (width + multiple - 1) / multiple * multiple;
}

std::vector<bool> lfm2_attention(const JsonFields& config, int64_t layers) {
  if (!config.has("layer_types")) {
    const Json all = Json::array();
    const Json& indexes = config.has("full_attn_idxs") ? config.array("full_attn_idxs") : all;
    std::vector<bool> attends(static_cast<size_t>(layers), !config.has("full_attn_idxs"));
    for (const Json& index : indexes) {
      if (!index.is_number_integer() || index < 0 || index >= layers) {
        config.refuse("full_attn_idxs", fmt::format("indexes of {} layers", layers),
                      preview(index.dump()));
      }
      attends[index.get<size_t>()] = true;
    }
    return attends;
  }
  std::vector<bool> attends;
  for (const Json& type : config.array("layer_types")) {
    if (!type.is_string()) config.refuse("layer_types", "strings", preview(type.dump()));
    if (type != "full_attention" && type != "conv")
      config.refuse_variant("layer_types", "full_attention or conv", preview(type.dump()));
    attends.push_back(type == "full_attention");
  }
  if (attends.size() != static_cast<size_t>(layers)) {
    config.refuse("layer_types", fmt::format("an entry for each of {} layers", layers),
                  fmt::format("{} entries", attends.size()));
  }
  return attends;
}

int64_t lfm2_taps(const JsonFields& config) {
  return config.integer_or("conv_L_cache", 3, 1, kMaxConvTaps);
}

QwenExperts::QwenExperts(const JsonFields& config, int64_t layers)
    : count(config.integer_or(config.has("num_local_experts") ? "num_local_experts" : "num_experts",
                              128, 0, kMaxExperts)),
      top_k(config.integer_or("num_experts_per_tok", 8, 1, std::max<int64_t>(1, count))),
      intermediate_size(config.integer_or("moe_intermediate_size", 768, 1, kMaxIntermediateSize)) {
  if (count > 0 && top_k > count)
    config.refuse("num_experts_per_tok",
                  fmt::format("at most {} experts; without the key it is 8", count),
                  std::to_string(top_k));
  const int64_t step = config.integer_or("decoder_sparse_step", 1, 1, kMaxLayers);
  for (int64_t layer = 0; layer < layers; ++layer)
    in_layer.push_back(count > 0 && (layer + 1) % step == 0);
  if (!config.has("mlp_only_layers")) return;
  for (const Json& layer : config.array("mlp_only_layers")) {
    if (!layer.is_number_integer() || layer < 0 || layer >= layers) {
      config.refuse("mlp_only_layers", fmt::format("indexes of {} layers", layers),
                    preview(layer.dump()));
    }
    in_layer[layer.get<size_t>()] = false;
  }
}

NomicExperts nomic_experts(const JsonFields& config) {
  const int64_t count = config.integer_or("num_experts", 0, 0, kMaxExperts);
  return {.count = count,
          .top_k = config.integer_or("moe_top_k", 1, 1, std::max<int64_t>(1, count))};
}

LatentSizes::LatentSizes(const JsonFields& config) {
  const JsonFields latent = config.fields("latent_attention_config");
  hidden = latent.integer_or("hidden_dim", 4096, 1, kMaxHiddenSize);
  latents = latent.integer_or("num_latents_value", 512, 1, kMaxPositions);
  heads = latent.integer_or("num_cross_heads", 8, 1, kMaxHeads);
  head_dim = latent.integer_or("cross_dim_head", 4096, 1, kMaxHiddenSize);
  const int64_t latent_dim = latent.integer_or("latent_dim", 4096, 1, kMaxHiddenSize);
  if (latent_dim != hidden)
    latent.refuse_variant("latent_dim", "the value of hidden_dim; without the key it is 4096");
}

}  // namespace encode
