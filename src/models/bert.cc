// BERT (Devlin et al. 2019) and the models that kept its layer. These are the differences:
//
//   RoBERTa      Liu et al. 2019. Positions count from pad_token_id + 1. CamemBERT and XLM-RoBERTa
//                are RoBERTa with other vocabularies.
//   DistilBERT   Sanh et al. 2019. There are no segments.
//   ELECTRA      Clark et al. 2020. The embeddings may be narrower than the layers. The model is
//                the discriminator.
//   ALBERT       Lan et al. 2020. The embeddings have their own width, and a few layers are used
//                repeatedly.
//   MPNet        Song et al. 2020. Positions as in RoBERTa, no segments, and a bias on the scores.
//   ERNIE        Sun et al. 2021. With use_task_id, every token also gets the vector of task 0.
//   RemBERT      Chung et al. 2021. The embeddings have their own width, as in ALBERT.
//   Longformer   Beltagy et al. 2020. Positions as in RoBERTa. A token sees attention_window / 2
//                tokens to either side. No token has global attention, because the reference gives
//                it only to the tokens of a global_attention_mask, and AutoModel and
//                sentence-transformers pass none.
//
// The checkpoints also differ in the names of their tensors. References: modeling_bert.py,
// modeling_roberta.py, modeling_distilbert.py, modeling_electra.py, modeling_albert.py,
// modeling_mpnet.py, modeling_ernie.py, modeling_rembert.py and modeling_longformer.py of Hugging
// Face transformers.
#include <fmt/format.h>

#include "encode/error.h"

#include "model_dir/extra_weights.h"
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "nn/layers/relative_positions.h"

namespace encode {
namespace {

// The layer of a Transformer encoder (Vaswani et al. 2017):
//   y = LayerNorm(x + Attention(x))
//   x = LayerNorm(y + MLP(y)),  MLP(y) = W2 act(W1 y + b1) + b2
//   Attention(x) = Wo softmax(q k^T / sqrt(head_dim)) v + bo, in several heads
// q, k and v are projections of x with biases. MPNet adds bias[bucket(j - i)] of the head to the
// score of query i and key j. With n = 16 and m = 8, the bucket of a distance d is
//   bucket(d) = f(|d|) if d <= 0, n + f(|d|) if d > 0
//   f(a) = a if a < m, else min(n - 1, m + floor(log(a / m) / log(128 / m) (n - m)))
// act is hidden_act, which is gelu in the papers.
// PostNormLayer::forward() (models/layers.h) computes the first two lines: after each half it adds
// the residual, and then normalizes the sum.
using BertLayer = PostNormLayer<>;

struct Parts {
  BertEmbeddings embeddings;
  std::optional<Linear> project = {};              // ELECTRA, ALBERT, RemBERT
  std::optional<RelativePositions> relative = {};  // MPNet
  std::vector<int64_t> reach = {};  // Longformer: the tokens that a layer sees to either side
  std::vector<BertLayer> layers;
};

class Bert : public Model {
 public:
  explicit Bert(Parts parts) : parts_(std::move(parts)) {}

  // The input is a sum of embeddings (figure 2 of BERT's paper):
  //   x = words[ids] + segments[type_ids] (+ task[0], ERNIE) + positions[position_ids]
  //   x = LayerNorm(x)
  //   x = W x + b, if the embeddings have a width of their own
  //   x = layer(x), layer after layer
  // The last x is last_hidden_state.
  at::Tensor forward(const PackedInput& batch) const override {
    at::Tensor x = parts_.embeddings(batch);
    if (parts_.project) x = (*parts_.project)(x);
    if (!parts_.reach.empty()) return local_layers(x, batch);
    if (!parts_.relative) return run_layers(parts_.layers, LinearInput(x), {.batch = batch}).rows;
    const RelativePositions relative = for_batch(*parts_.relative, batch, x);
    return run_layers(parts_.layers, LinearInput(x), {.batch = batch, .relative = &relative}).rows;
  }

 private:
  at::Tensor local_layers(const at::Tensor& x, const PackedInput& batch) const {
    return run_layers(parts_.layers, LinearInput(x),
                      [&](size_t layer) {
                        const int64_t reach = parts_.reach[layer];
                        return LayerContext{.batch = batch,
                                            .window = {.left = reach, .right = reach}};
                      })
        .rows;
  }

  Parts parts_;
};

// The names of a layer's tensors below the scope of the layer.
struct LayerNames {
  const char* query;
  const char* key;
  const char* value;
  const char* attention_out;
  const char* attention_norm;
  const char* mlp_up;
  const char* mlp_down;
  const char* mlp_norm;
};

constexpr LayerNames kBertNames = {.query = "attention.self.query",
                                   .key = "attention.self.key",
                                   .value = "attention.self.value",
                                   .attention_out = "attention.output.dense",
                                   .attention_norm = "attention.output.LayerNorm",
                                   .mlp_up = "intermediate.dense",
                                   .mlp_down = "output.dense",
                                   .mlp_norm = "output.LayerNorm"};

constexpr LayerNames kDistilBertNames = {.query = "attention.q_lin",
                                         .key = "attention.k_lin",
                                         .value = "attention.v_lin",
                                         .attention_out = "attention.out_lin",
                                         .attention_norm = "sa_layer_norm",
                                         .mlp_up = "ffn.lin1",
                                         .mlp_down = "ffn.lin2",
                                         .mlp_norm = "output_layer_norm"};

constexpr LayerNames kAlbertNames = {.query = "attention.query",
                                     .key = "attention.key",
                                     .value = "attention.value",
                                     .attention_out = "attention.dense",
                                     .attention_norm = "attention.LayerNorm",
                                     .mlp_up = "ffn",
                                     .mlp_down = "ffn_output",
                                     .mlp_norm = "full_layer_layer_norm"};

constexpr LayerNames kMpNetNames = {.query = "attention.attn.q",
                                    .key = "attention.attn.k",
                                    .value = "attention.attn.v",
                                    .attention_out = "attention.attn.o",
                                    .attention_norm = "attention.LayerNorm",
                                    .mlp_up = "intermediate.dense",
                                    .mlp_down = "output.dense",
                                    .mlp_norm = "output.LayerNorm"};

// Every projection has a bias.
BertLayer load_bert_layer(const ModuleLoader& layer, const EncoderConfig& config,
                          const LayerNames& names) {
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

// ALBERT uses each of its groups of layers for several consecutive steps. The copies of a layer
// share its weights.
std::vector<BertLayer> load_albert_layers(const ModuleLoader& encoder, const EncoderConfig& config,
                                          const JsonFields& json) {
  const int64_t steps = config.num_hidden_layers;
  const auto [groups, group_layers] = shared_layers(json, steps);
  std::vector<std::vector<BertLayer>> stored;
  for (int64_t group = 0; group < groups; ++group) {
    const ModuleLoader scope = encoder.scope(fmt::format("albert_layer_groups.{}", group));
    stored.push_back(
        scope.layers("albert_layers.", group_layers, load_bert_layer, config, kAlbertNames));
  }
  std::vector<BertLayer> layers;
  for (int64_t step = 0; step < steps; ++step) {
    const auto& group = stored[static_cast<size_t>(step * groups / steps)];
    layers.insert(layers.end(), group.begin(), group.end());
  }
  return layers;
}

// Returns the window of each layer. attention_window is a number for all layers, or a list of
// numbers, one for each layer.
std::vector<int64_t> attention_windows(const JsonFields& json, int64_t layers) {
  constexpr int64_t kDefault = 512;  // as in LongformerConfig
  const Json* list = nullptr;
  try {
    if (json.has("attention_window")) list = &json.array("attention_window");
  } catch (const Error&) {
    list = nullptr;
  }
  if (list == nullptr) {
    const int64_t window = json.integer_or("attention_window", kDefault, 2, kMaxWindowTokens);
    return std::vector<int64_t>(static_cast<size_t>(layers), window);
  }
  std::vector<int64_t> windows;
  for (const Json& window : *list)
    windows.push_back(window.is_number_integer() ? window.get<int64_t>() : 0);
  if (static_cast<int64_t>(windows.size()) != layers) {
    json.refuse("attention_window", fmt::format("{} numbers, one for each layer", layers),
                fmt::format("{} numbers", windows.size()));
  }
  return windows;
}

// Returns half of each window. Refuses odd windows, as the reference does.
std::vector<int64_t> attention_reach(const JsonFields& json, int64_t layers) {
  std::vector<int64_t> reach;
  for (const int64_t window : attention_windows(json, layers)) {
    if (window < 2 || window > kMaxWindowTokens || window % 2 != 0) {
      json.refuse("attention_window", fmt::format("even numbers from 2 to {}", kMaxWindowTokens),
                  fmt::to_string(window));
    }
    reach.push_back(window / 2);
  }
  return reach;
}

// Returns the scope of the tensors. `prefix` is the prefix in checkpoints of a model with a head,
// such as "bert.".
ModuleLoader load_root(const ModelSource& source, const char* prefix) {
  return {source.weights.root("embeddings.word_embeddings.weight", {"", prefix}), source};
}

// Returns the model. Throws if the checkpoint has a tensor that the model did not take and that is
// not one of the `leftovers`.
std::unique_ptr<Model> finish(const ModelSource& source, Parts parts,
                              const std::vector<std::string>& leftovers) {
  source.weights.expect_all_taken(leftovers);
  return std::make_unique<Bert>(std::move(parts));
}

// Returns the tensors of the pooler and of the heads of pre-training, as patterns for
// Weights::expect_all_taken(). An embedding does not need them.
std::vector<std::string> pretraining_heads(const char* prefix) {
  return {"pooler.*",
          fmt::format("{}pooler.*", prefix),
          "cls.*",
          "lm_head.*",
          "discriminator_predictions.*",
          "generator_predictions.*",
          "classifier.*",
          "generator_lm_head.*",
          "embeddings.position_ids"};
}

// Throws Error "model.config" if position_embedding_type is not "absolute". The other types of
// BertConfig add terms to the scores, which BertLayer does not compute.
void require_absolute_positions(const JsonFields& config) {
  if (config.string_or("position_embedding_type", "absolute") != "absolute")
    config.refuse_variant("position_embedding_type", "absolute");
}

}  // namespace

std::unique_ptr<Model> load_bert(const ModelSource& source) {
  if (source.config.string_or("position_embedding_type", "absolute") == "alibi")
    return load_jina_bert(source);
  require_absolute_positions(source.config);
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "bert.");
  Parts parts = {.embeddings = {root.scope("embeddings"), config, {.width = config.hidden()}},
                 .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer,
                                       config, kBertNames)};
  return finish(source, std::move(parts), pretraining_heads("bert."));
}

std::unique_ptr<Model> load_roberta(const ModelSource& source) {
  require_absolute_positions(source.config);
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "roberta.");
  const int64_t padding = padding_token_of(source.config);
  Parts parts = {.embeddings = {root.scope("embeddings"),
                                config,
                                {.width = config.hidden(), .padding_token = padding}},
                 .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer,
                                       config, kBertNames)};
  return finish(source, std::move(parts), pretraining_heads("roberta."));
}

std::unique_ptr<Model> load_distilbert(const ModelSource& source) {
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "distilbert.");
  Parts parts = {.embeddings = {root.scope("embeddings"), config, {.width = config.hidden()}},
                 .layers = root.layers("transformer.layer.", config.num_hidden_layers,
                                       load_bert_layer, config, kDistilBertNames)};
  return finish(source, std::move(parts),
                {"vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*", "position_ids"});
}

std::unique_ptr<Model> load_electra(const ModelSource& source) {
  require_absolute_positions(source.config);
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "electra.");
  const Dim width = {"embedding_size", config.embedding_size};
  Parts parts = {.embeddings = {root.scope("embeddings"), config, {.width = width}},
                 .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer,
                                       config, kBertNames)};
  if (config.projects_embeddings)
    parts.project = root.linear("embeddings_project", config.hidden(), width);
  return finish(source, std::move(parts), pretraining_heads("electra."));
}

std::unique_ptr<Model> load_albert(const ModelSource& source) {
  // The tanh form is the default of AlbertConfig in transformers.
  const EncoderConfig config(source, {.hidden_act = Activation::kGeluTanh});
  const ModuleLoader root = load_root(source, "albert.");
  const Dim width = {"embedding_size", config.embedding_size};
  Parts parts = {
      .embeddings = {root.scope("embeddings"), config, {.width = width}},
      .project = root.linear("encoder.embedding_hidden_mapping_in", config.hidden(), width),
      .layers = load_albert_layers(root.scope("encoder"), config, source.config)};
  return finish(
      source, std::move(parts),
      {"pooler.*", "albert.pooler.*", "predictions.*", "sop_classifier.*", "position_ids"});
}

std::unique_ptr<Model> load_ernie(const ModelSource& source) {
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "ernie.");
  Parts parts = {
      .embeddings = {root.scope("embeddings"),
                     config,
                     {.width = config.hidden(), .task_types = ernie_task_types(source.config)}},
      .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer, config,
                            kBertNames)};
  return finish(source, std::move(parts), pretraining_heads("ernie."));
}

std::unique_ptr<Model> load_longformer(const ModelSource& source) {
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "longformer.");
  const int64_t padding = padding_token_of(source.config);
  Parts parts = {.embeddings = {root.scope("embeddings"),
                                config,
                                {.width = config.hidden(), .padding_token = padding}},
                 .reach = attention_reach(source.config, config.num_hidden_layers),
                 .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer,
                                       config, kBertNames)};
  std::vector<std::string> leftovers = pretraining_heads("longformer.");
  for (const char* name : {"query", "key", "value"}) {
    for (const char* part : {"weight", "bias"})
      leftovers.push_back(fmt::format("attention.self.{}_global.{}", name, part));
  }
  return finish(source, std::move(parts), leftovers);
}

std::unique_ptr<Model> load_mpnet(const ModelSource& source) {
  constexpr int64_t kMaxDistance = 128;  // a constant in the reference
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "mpnet.");
  const int64_t padding = padding_token_of(source.config);
  // The positions of the reference count from token 1, whatever config.json says.
  if (padding != 1) source.config.refuse_variant("pad_token_id", "1");
  Parts parts = {.embeddings = {root.scope("embeddings"),
                                config,
                                {.width = config.hidden(), .padding_token = padding}},
                 .relative = bucket_bias(
                     root.table("encoder.relative_attention_bias", {"32 buckets", kMpNetBuckets},
                                {"num_attention_heads", config.num_attention_heads}),
                     kMaxDistance),
                 .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer,
                                       config, kMpNetNames)};
  return finish(source, std::move(parts),
                {"pooler.*", "mpnet.pooler.*", "lm_head.*", "position_ids"});
}

std::unique_ptr<Model> load_rembert(const ModelSource& source) {
  const EncoderConfig config(source);
  const ModuleLoader root = load_root(source, "rembert.");
  const Dim width = {"input_embedding_size", config.embedding_size};
  Parts parts = {
      .embeddings = {root.scope("embeddings"), config, {.width = width}},
      .project = root.linear("encoder.embedding_hidden_mapping_in", config.hidden(), width),
      .layers = root.layers("encoder.layer.", config.num_hidden_layers, load_bert_layer, config,
                            kBertNames)};
  return finish(source, std::move(parts), pretraining_heads("rembert."));
}

}  // namespace encode
