#include "memory/model_shape.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

#include "model_dir/intermediate_size.h"
#include "model_dir/limits.h"
#include "model_dir/supported_architectures.h"
#include "model_dir/text_config.h"

namespace encode {
namespace {

constexpr int64_t kMostOfAField = int64_t{1}
                                  << 40;  // so that products of two fields fit an int64_t

int64_t first_of(const JsonFields& fields, std::initializer_list<const char*> keys,
                 int64_t fallback) {
  for (const char* key : keys) {
    if (fields.has(key)) return fields.integer(key, 0, kMostOfAField);
  }
  return fallback;
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// models/*.cc load these with FeedForward's gated form.
bool is_gated(const ModelShape& shape, const JsonFields& fields) {
  constexpr std::array<std::string_view, 21> kGated = {
      "eurobert",      "gemma",     "gemma2",  "gemma3_text", "gte",        "lfm2",      "llama",
      "llama_bidirec", "ministral", "mistral", "ministral3",  "modernbert", "mt5",       "new",
      "nvembed",       "olmo",      "olmo2",   "qwen2",       "qwen3",      "qwen3_moe", "umt5"};
  if (contains(kGated, shape.model_type)) return true;
  if (shape.model_type == "t5") {
    return fields.boolean_or("is_gated_act",
                             fields.string_or("feed_forward_proj", "relu").starts_with("gated"));
  }
  if (shape.model_type == "nomic_bert") return !fields.has("num_experts");
  return fields.string_or("feed_forward_type", "").ends_with("glu");
}

bool is_causal(const ModelShape& shape, const JsonFields& fields) {
  constexpr std::array<std::string_view, 19> kCausal = {
      "bloom", "gemma", "gemma2", "gemma3_text", "gpt2",       "gpt_neo", "gpt_neox",
      "gptj",  "lfm2",  "llama",  "ministral",   "ministral3", "mistral", "olmo",
      "olmo2", "phi",   "qwen2",  "qwen3",       "qwen3_moe"};
  return contains(kCausal, shape.model_type) && fields.boolean_or("is_causal", true) &&
         !fields.boolean_or("use_bidirectional_attention", false);
}

bool is_alibi(const JsonFields& fields) {
  return fields.string_or("position_embedding_type", "absolute") == "alibi";
}

bool is_rotary_esm(const ModelShape& shape, const JsonFields& fields) {
  return shape.model_type == "esm" &&
         fields.string_or("position_embedding_type", "absolute") == "rotary";
}

bool is_relative(const ModelShape& shape, const JsonFields& fields) {
  if (shape.model_type.starts_with("deberta"))
    return fields.boolean_or("relative_attention", false);
  constexpr std::array<std::string_view, 5> kRelative = {"bloom", "mpnet", "mt5", "t5", "umt5"};
  return contains(kRelative, shape.model_type) || is_alibi(fields);
}

int64_t positions_of(const ModelShape& shape, const JsonFields& fields) {
  const Architecture* architecture = find_architecture(shape.model_type);
  const bool learned = architecture != nullptr && architecture->positions != Positions::kUnbounded;
  if (!learned || is_alibi(fields) || is_rotary_esm(shape, fields)) return 0;
  return first_of(fields, {"max_position_embeddings", "n_positions"}, 0);
}

int64_t token_types_of(const ModelShape& shape, const JsonFields& fields) {
  const bool none = shape.positions == 0 || shape.model_type.starts_with("gpt");
  return none ? 0 : first_of(fields, {"type_vocab_size"}, 2);
}

int64_t intermediate_size_of(const ModelShape& shape, const JsonFields& fields) {
  const int64_t usual = 4 * shape.hidden_size;
  if (shape.model_type == "bloom") return usual;  // models/gpt2.cc does not read its fields either
  if (shape.model_type == "lfm2") return lfm2_intermediate_size(fields);
  return first_of(fields, {"intermediate_size", "hidden_dim", "n_inner", "d_ff"}, usual);
}

// The fields of attention and of the MLP.
void read_layer(ModelShape& shape, const JsonFields& fields) {
  shape.heads = std::max<int64_t>(
      1, first_of(fields, {"num_attention_heads", "num_heads", "n_heads", "n_head"}, 1));
  constexpr int64_t kLfm2KeyValueHeads = 8;  // the default of Lfm2Config
  const int64_t usual_heads = shape.model_type == "lfm2" ? kLfm2KeyValueHeads : shape.heads;
  shape.key_value_heads =
      std::max<int64_t>(1, first_of(fields, {"num_key_value_heads"}, usual_heads));
  const bool gemma = shape.model_type.starts_with("gemma");
  constexpr int64_t kGemmaHeadDim = 256;  // the default of GemmaConfig
  const int64_t usual =
      gemma ? kGemmaHeadDim : std::max<int64_t>(1, shape.hidden_size / shape.heads);
  shape.head_dim = std::max<int64_t>(1, first_of(fields, {"head_dim", "d_kv"}, usual));
  shape.intermediate_size = intermediate_size_of(shape, fields);
  shape.gated = is_gated(shape, fields);
  shape.causal = is_causal(shape, fields);
  shape.relative = is_relative(shape, fields);
}

// ALBERT's layers share the weights of num_hidden_groups x inner_group_num stored layers.
int64_t stored_layers_of(const ModelShape& shape, const JsonFields& fields) {
  if (shape.model_type != "albert") return shape.layers;
  return first_of(fields, {"num_hidden_groups"}, 1) * first_of(fields, {"inner_group_num"}, 1);
}

// The heads of pre-training and the decoders that models/*.cc leave out.
bool is_left_out(std::string_view name) {
  constexpr std::array<std::string_view, 18> kParts = {
      "pooler.",          "cls.",
      "lm_head",          "discriminator_predictions.",
      "generator_",       "classifier",
      "position_ids",     "vocab_transform.",
      "vocab_layer_norm", "vocab_proj",
      "sop_classifier.",  "predictions.",
      "rotary_emb.",      "_global.",
      "contact_head.",    "embed_out.",
      ".masked_bias",     ".embed_positions"};
  // The causal mask in older checkpoints of GPT-2, GPT-Neo and GPT-NeoX.
  if (name.ends_with(".attn.bias") || name.ends_with(".attention.bias")) return true;
  const bool decoder = name.starts_with("decoder.") || name.find(".decoder.block.") != name.npos;
  return decoder || std::any_of(kParts.begin(), kParts.end(), [name](std::string_view part) {
           return name.find(part) != std::string_view::npos;
         });
}

// Tables are copied, and never packed for a matrix product.
bool is_table(std::string_view name) {
  const bool embedding = name.find("embed") != std::string_view::npos &&
                         name.find("project") == std::string_view::npos &&
                         name.find("mapping") == std::string_view::npos;
  const bool of_gpt2 = name.ends_with("wte.weight") || name.ends_with("wpe.weight");
  return embedding || of_gpt2 || name.find("shared.weight") != std::string_view::npos ||
         name.find("relative_attention_bias") != std::string_view::npos;
}

void count_tensors(const ModelDirectory& directory, ModelShape& shape) {
  std::set<std::pair<std::string_view, int64_t>> counted;  // tensors can share their bytes
  for (const auto& [name, tensor] : directory.tensors) {
    if (is_left_out(name) || tensor.shape.size() < 2 ||
        !counted.emplace(tensor.file, tensor.offset_bytes).second)
      continue;
    shape.checkpoint_reordered = shape.checkpoint_reordered || !tensor.strides.empty();
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    (is_table(name) ? shape.checkpoint_table_elements : shape.checkpoint_matrix_elements) +=
        elements;
    if (elements > 0)
      shape.checkpoint_element_bytes =
          std::max(shape.checkpoint_element_bytes, tensor.size_bytes / elements);
  }
}

}  // namespace

std::vector<WeightShape> ModelShape::matrices() const {
  std::vector<WeightShape> all;
  if (embedding_size != hidden_size)  // the projection of ELECTRA, ALBERT and RemBERT
    all.push_back({.out_features = hidden_size, .in_features = embedding_size});
  if (stored_layers == 0) return all;
  const int64_t up = (gated ? 2 : 1) * intermediate_size;
  all.push_back({query_width() + 2 * key_value_width(), hidden_size, stored_layers});
  all.push_back({hidden_size, query_width(), stored_layers});
  all.push_back({up, hidden_size, stored_layers});
  all.push_back({hidden_size, intermediate_size, stored_layers});
  return all;
}

int64_t ModelShape::matrix_elements() const {
  if (checkpoint_matrix_elements > 0) return checkpoint_matrix_elements;
  int64_t sum = 0;
  for (const WeightShape& matrix : matrices()) sum += matrix.elements();
  return sum;
}

int64_t ModelShape::table_elements() const {
  if (checkpoint_table_elements > 0) return checkpoint_table_elements;
  return (vocab_size + positions + token_types) * embedding_size;
}

int64_t ModelShape::vector_elements() const {
  // Two norms with weight and bias, the biases of the four products.
  constexpr int64_t kWidths = 6;
  return stored_layers * (kWidths * hidden_size + query_width() + 2 * key_value_width() +
                          (gated ? 2 : 1) * intermediate_size);
}

double ModelShape::flops_per_token(double row_tokens) const {
  double products = 0;
  for (const WeightShape& matrix : matrices()) products += static_cast<double>(matrix.elements());
  // The layers that share weights compute all the same.
  if (stored_layers > 0)
    products *= static_cast<double>(layers) / static_cast<double>(stored_layers);
  const double attention = 2 * row_tokens * static_cast<double>(query_width() * layers);
  return 2 * products + (causal ? attention : 2 * attention);
}

ModelShape shape_of_config(const std::string& config_json, const std::string& where) {
  const Json config = parse_json(config_json, kConfigJson, where, "model.config");
  const JsonFields whole(config, where, "model.config");
  ModelShape shape;
  shape.model_type = whole.string("model_type");
  const JsonFields fields = text_config(whole, shape.model_type);
  shape.hidden_size = std::max<int64_t>(
      1, first_of(fields, {"hidden_size", "d_model", "dim", "n_embd", "n_embed"}, 1));
  shape.vocab_size = fields.integer("vocab_size", 1, kMostOfAField);
  shape.embedding_size =
      first_of(fields, {"embedding_size", "input_embedding_size"}, shape.hidden_size);
  if (shape.model_type == kStaticEmbedding) return shape;
  shape.layers = first_of(fields, {"num_hidden_layers", "num_layers", "n_layers", "n_layer"}, 1);
  shape.stored_layers = stored_layers_of(shape, fields);
  shape.positions = positions_of(shape, fields);
  shape.token_types = token_types_of(shape, fields);
  read_layer(shape, fields);
  shape.rotary = shape.positions == 0 && !shape.relative;
  return shape;
}

ModelShape shape_of(const ModelDirectory& directory) {
  ModelShape shape =
      shape_of_config(directory.config_json, directory.transformer_path + "/config.json");
  count_tensors(directory, shape);
  return shape;
}

}  // namespace encode
