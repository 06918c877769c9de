#include "run_plan/memory/model_shape.h"

#include <algorithm>

#include "model_dir/limits.h"
#include "model_dir/supported_architectures.h"

namespace encode {

std::vector<WeightShape> ModelShape::matrices() const {
  std::vector<WeightShape> all = extra_matrices;
  if (projects_embeddings) all.push_back({hidden_size, embedding_size});
  const int64_t up = (gated ? 2 : 1) * intermediate_size;
  all.push_back({query_width() + 2 * key_value_width(), hidden_size, attention_layers});
  all.push_back({hidden_size, query_width(), attention_layers});
  all.push_back({up, hidden_size, mlp_layers});
  all.push_back({hidden_size, intermediate_size, mlp_layers});
  std::erase_if(all, [](const WeightShape& matrix) { return matrix.count == 0; });
  return all;
}

int64_t ModelShape::matrix_elements() const {
  int64_t sum = 0;
  for (const WeightShape& matrix : matrices()) sum += matrix.elements();
  return sum;
}

int64_t ModelShape::largest_matrix_elements() const {
  int64_t largest = 0;
  for (const WeightShape& matrix : matrices())
    largest = std::max(largest, matrix.out_features * matrix.in_features);
  return largest;
}

int64_t ModelShape::table_elements() const {
  return (vocab_size + position_rows() + type_vocab_size) * embedding_size + extra_table_elements;
}

int64_t ModelShape::vector_elements() const {
  // The vectors of a layer, in units of hidden_size: two norms with weight and bias, and the biases
  // of the four products.
  constexpr int64_t kWidths = 6;
  return stored_layers * (kWidths * hidden_size + query_width() + 2 * key_value_width() +
                          (gated ? 2 : 1) * intermediate_size);
}

double ModelShape::flops_per_token(double row_tokens) const {
  if (stored_layers == 0) return 0;
  // Layers that share weights are stored once, but each layer computes.
  const double passes = static_cast<double>(num_hidden_layers) / static_cast<double>(stored_layers);
  double products = 0;
  for (const WeightShape& matrix : matrices()) {
    const int64_t used = matrix.used > 0 ? matrix.used : matrix.count;
    products += static_cast<double>(matrix.out_features * matrix.in_features * used);
  }
  const double attention = 2 * row_tokens * static_cast<double>(query_width() * attention_layers);
  return passes * (2 * products + (causal ? attention : 2 * attention));
}

ModelShape shape_of_config(const std::string& config_json, const std::string& where) {
  const Json config = parse_json(config_json, kConfigJson, where, "model.config");
  const JsonFields fields(config, where, "model.config");
  const std::string model_type = fields.string("model_type");
  const ArchitectureEntry* entry = find_architecture(model_type);
  if (entry == nullptr) throw unsupported_architecture(model_type, where);
  return {model_sizes(*entry, fields), model_type};
}

ModelShape shape_of(const ModelDirectory& directory) {
  ModelShape shape =
      shape_of_config(directory.config_json, directory.transformer_path + "/config.json");
  shape.causal = directory.recipe_causal.value_or(shape.causal);
  for (const auto& [name, tensor] : directory.tensors) {
    if (tensor.shape.size() < 2) continue;
    shape.checkpoint_reordered = shape.checkpoint_reordered || !tensor.strides.empty();
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    if (elements > 0)
      shape.checkpoint_element_bytes =
          std::max(shape.checkpoint_element_bytes, tensor.size_bytes / elements);
  }
  return shape;
}

}  // namespace encode
