#include "model_dir/weighted_modules.h"

#include <algorithm>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/json.h"
#include "base/module_names.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/sentence_modules.h"
#include "model_dir/weight_files.h"

namespace encode {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

// Reads the Python path that sentence-transformers saves, such as
// "torch.nn.modules.activation.Tanh".
DenseActivation dense_activation(const JsonFields& fields, const std::string& fallback) {
  const std::string name = fields.string_or("activation_function", fallback);
  for (const std::string_view package :
       {"torch.nn.modules.activation.", "torch.nn.modules.linear.", "torch.nn."}) {
    if (!std::string_view(name).starts_with(package)) continue;
    for (const auto& [activation, value] : kDenseActivations) {
      if (std::string_view(name).substr(package.size()) == activation) return value;
    }
  }
  std::vector<std::string_view> names;
  for (const auto& [activation, value] : kDenseActivations) names.push_back(activation);
  fields.refuse_variant(
      "activation_function",
      fmt::format("torch.nn.modules.activation. and one of: {}", fmt::join(names, ", ")));
}

std::string text(const Shapes& shapes) {
  std::vector<std::string> list;
  for (const auto& [name, shape] : shapes)
    list.push_back(fmt::format("{} {}", preview(name), Json(shape).dump()));
  return fmt::format("{}", fmt::join(list, ", "));
}

// Throws Error `code` if the tensors are not exactly the expected ones, in a floating-point type.
void require_tensors(const TensorMap& tensors, const Shapes& expected, ErrorCode code,
                     const std::string& where) {
  Shapes found;
  bool floating = true;
  for (const auto& [name, info] : tensors) {
    found[name] = info.shape;
    floating = floating && is_weight_type(info.dtype);
  }
  if (found == expected && floating) return;
  throw Error({.code = code,
               .what = floating ? "the weights of a module do not fit its config.json"
                                : "the weights of a module are not floating point",
               .where = where,
               .expected = fmt::format("{} in {}", text(expected), kWeightTypes),
               .found = text(found).substr(0, 400),
               .hint = "download this folder again: its config.json and its weights do not fit"});
}

void warn_of_unknown_keys(const Json& config, const std::string& where,
                          std::vector<std::string>& warnings) {
  static constexpr std::array<std::string_view, 7> kKnown = {
      "in_features",       "out_features",       "bias",        "activation_function",
      "module_input_name", "module_output_name", "use_residual"};
  for (const auto& [key, value] : config.items()) {
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
      warnings.push_back(fmt::format(
          "{}: the unknown key '{}' is ignored, as in sentence-transformers", where, preview(key)));
    }
  }
}

constexpr const char* kSentenceEmbedding = "sentence_embedding";
constexpr const char* kTokenEmbeddings = "token_embeddings";

// Throws Error "model.unsupported" unless the module reads and writes `features`, one of the two
// constants above.
void require_features(const JsonFields& fields, const std::string& where,
                      const std::string& features) {
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const std::string name = fields.string_or(key, features);
    if (name == features) continue;
    const bool of_tokens = features == kTokenEmbeddings;
    throw Error(
        {.code = "model.unsupported",
         .what = fmt::format("a module does not work on the {}",
                             of_tokens ? "token embeddings" : "sentence embedding"),
         .where = where,
         .expected = fmt::format("\"{}\" as {}", features, key),
         .found = fmt::format("'{}'", preview(name)),
         .hint = of_tokens ? "encode it with PyLate" : "encode it with sentence-transformers"});
  }
}

// The values that differ between the Dense classes of sentence-transformers and PyLate.
struct DenseDefaults {
  const char* features;             // the vectors that the module reads and writes
  const char* activation_function;  // if config.json states none
};

constexpr const char* kTanh = "torch.nn.modules.activation.Tanh";
constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";

SentenceModule read_dense_with(const DenseDefaults& defaults, const ModelFolder& folder,
                               std::vector<std::string>& warnings) {
  constexpr ErrorCode kDenseCode = "model.dense";
  const std::string where = folder.path_of(kModuleConfigFile);
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, kDenseCode);
  const JsonFields fields(config, where, kDenseCode);
  SentenceModule module;
  module.kind = SentenceModule::Kind::kDense;
  module.in_features = fields.integer("in_features", 1, kMaxEmbeddingDim);
  module.out_features = fields.integer("out_features", 1, kMaxHiddenSize);
  module.bias = fields.boolean_or("bias", true);
  module.residual = fields.boolean_or("use_residual", false);
  module.activation = dense_activation(fields, defaults.activation_function);
  require_features(fields, where, defaults.features);
  warn_of_unknown_keys(config, where, warnings);
  module.tensors = read_module_weights(folder);
  Shapes expected = {{"linear.weight", {module.out_features, module.in_features}}};
  if (module.bias) expected["linear.bias"] = {module.out_features};
  if (module.residual && module.in_features != module.out_features)
    expected["residual.weight"] = {module.out_features, module.in_features};
  require_tensors(module.tensors, expected, kDenseCode,
                  folder.path_of(module_weights_file(folder)));
  return module;
}

}  // namespace

void require_sentence_embedding(const JsonFields& fields, const std::string& where) {
  require_features(fields, where, kSentenceEmbedding);
}

SentenceModule read_dense(const ModelFolder& folder, std::vector<std::string>& warnings) {
  return read_dense_with({kSentenceEmbedding, kTanh}, folder, warnings);
}

SentenceModule read_token_dense(const ModelFolder& folder, bool pylate,
                                std::vector<std::string>& warnings) {
  return read_dense_with({kTokenEmbeddings, pylate ? kIdentity : kTanh}, folder, warnings);
}

SentenceModule read_layer_norm(const ModelFolder& folder) {
  constexpr ErrorCode kCode = "model.layer_norm";
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, kCode);
  const JsonFields fields(config, folder.path_of(kModuleConfigFile), kCode);
  SentenceModule module;
  module.kind = SentenceModule::Kind::kLayerNorm;
  module.in_features = fields.integer("dimension", 1, kMaxEmbeddingDim);
  module.tensors = read_module_weights(folder);
  require_tensors(module.tensors,
                  {{"norm.weight", {module.in_features}}, {"norm.bias", {module.in_features}}},
                  kCode, folder.path_of(module_weights_file(folder)));
  return module;
}

}  // namespace encode
