#include "model_dir/sentence_modules.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/refusal.h"
#include "model_dir/safetensors.h"

namespace encode {
namespace {

constexpr const char* kModulesFile = "modules.json";
constexpr const char* kModuleConfigFile = "config.json";

enum class ModuleType { kTransformer, kPooling, kDense, kNormalize };

// The type strings that sentence-transformers 2 to 6 wrote: "<package>.<Class>" and
// "<package>.<class>.<Class>".
std::optional<ModuleType> module_type(std::string_view type) {
  static constexpr std::array<std::string_view, 3> kPackages = {
      "sentence_transformers.models.", "sentence_transformers.base.modules.",
      "sentence_transformers.sentence_transformer.modules."};
  static constexpr std::array<std::pair<std::string_view, ModuleType>, 8> kClasses = {
      {{"Transformer", ModuleType::kTransformer},
       {"transformer.Transformer", ModuleType::kTransformer},
       {"Pooling", ModuleType::kPooling},
       {"pooling.Pooling", ModuleType::kPooling},
       {"Dense", ModuleType::kDense},
       {"dense.Dense", ModuleType::kDense},
       {"Normalize", ModuleType::kNormalize},
       {"normalize.Normalize", ModuleType::kNormalize}}};
  for (const std::string_view package : kPackages) {
    if (type.substr(0, package.size()) != package) continue;
    for (const auto& [name, value] : kClasses) {
      if (type.substr(package.size()) == name) return value;
    }
  }
  return std::nullopt;
}

Error bad_modules(const ModelFolder& root, std::string what, std::string found) {
  return refusal(
      {.code = "model.modules",
       .what = std::move(what),
       .where = root.path_of(kModulesFile),
       .expected = "a Transformer, then one Pooling, then any number of Dense and Normalize",
       .found = std::move(found),
       .hint = "encode it with sentence-transformers, or take modules.json away to use the bare "
               "transformer"});
}

// A Dense or Normalize that works on anything else than the pooled embedding is of a multi-vector
// model.
void require_sentence_embedding(const JsonFields& fields, const std::string& where) {
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const std::string name = fields.string_or(key, "sentence_embedding");
    if (name == "sentence_embedding") continue;
    throw refusal({.code = "model.unsupported",
                   .what = "a module does not work on the sentence embedding",
                   .where = where,
                   .expected = "\"sentence_embedding\" as " + std::string(key),
                   .found = "'" + preview(name) + "'",
                   .hint = "multi-vector models are not supported"});
  }
}

std::vector<PoolingMode> pooling_modes(const Json& config, const JsonFields& fields,
                                       const std::string& where) {
  std::vector<PoolingMode> modes;
  if (fields.has("pooling_mode")) {  // the newer form; the older keys beside it are ignored
    const Json& mode = config.at("pooling_mode");
    const std::vector<Json> names =
        mode.is_array() ? mode.get<std::vector<Json>>() : std::vector<Json>{mode};
    if (names.empty() || names.size() > 6)
      fields.refuse("pooling_mode", "1 to 6 modes", std::to_string(names.size()));
    for (const Json& name : names) {
      if (!name.is_string())
        fields.refuse("pooling_mode", "a string or a list of strings", preview(name.dump()));
      modes.push_back(parse_pooling_mode(name.get<std::string>(), where + ", pooling_mode"));
    }
    return modes;
  }
  // The older form. The vectors are concatenated in this order, not in the file's.
  static constexpr std::array<std::pair<const char*, PoolingMode>, 6> kFlags = {
      {{"pooling_mode_cls_token", PoolingMode::kCls},
       {"pooling_mode_max_tokens", PoolingMode::kMax},
       {"pooling_mode_mean_tokens", PoolingMode::kMean},
       {"pooling_mode_mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLen},
       {"pooling_mode_weightedmean_tokens", PoolingMode::kWeightedMean},
       {"pooling_mode_lasttoken", PoolingMode::kLastToken}}};
  for (const auto& [key, mode] : kFlags) {
    if (fields.boolean_or(key, false)) modes.push_back(mode);
  }
  if (modes.empty()) modes.push_back(PoolingMode::kMean);
  return modes;
}

SentenceModule read_pooling(const ModelFolder& folder) {
  const std::string where = folder.path_of(kModuleConfigFile);
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, "model.pooling");
  const JsonFields fields(config, where, "model.pooling");
  SentenceModule module;
  module.kind = SentenceModule::Kind::kPooling;
  module.pooling = pooling_modes(config, fields, where);
  module.include_prompt = fields.boolean_or("include_prompt", true);
  const char* width =
      fields.has("embedding_dimension") ? "embedding_dimension" : "word_embedding_dimension";
  module.in_features = fields.integer(width, 1, kMaxHiddenSize);
  return module;
}

DenseActivation dense_activation(const JsonFields& fields) {
  static constexpr std::array<std::pair<std::string_view, DenseActivation>, 5> kActivations = {
      {{"Identity", DenseActivation::kIdentity},
       {"Tanh", DenseActivation::kTanh},
       {"ReLU", DenseActivation::kRelu},
       {"GELU", DenseActivation::kGelu},
       {"Sigmoid", DenseActivation::kSigmoid}}};
  const std::string name =
      fields.string_or("activation_function", "torch.nn.modules.activation.Tanh");
  for (const std::string_view package :
       {"torch.nn.modules.activation.", "torch.nn.modules.linear.", "torch.nn."}) {
    if (std::string_view(name).substr(0, package.size()) != package) continue;
    for (const auto& [activation, value] : kActivations) {
      if (std::string_view(name).substr(package.size()) == activation) return value;
    }
  }
  fields.refuse("activation_function",
                "torch.nn.modules.linear.Identity or torch.nn.modules.activation.{Tanh, ReLU, "
                "GELU, Sigmoid}",
                "'" + preview(name) + "'");
}

// The weights must be linear.weight [out, in] and, with a bias, linear.bias [out]; nothing else.
void require_dense_tensors(const SentenceModule& module, const std::string& where) {
  std::map<std::string, std::vector<int64_t>> expected = {
      {"linear.weight", {module.out_features, module.in_features}}};
  if (module.bias) expected["linear.bias"] = {module.out_features};
  const auto text = [](const auto& tensors, const auto& shape_of) {
    std::string list;
    for (const auto& [name, value] : tensors)
      list += (list.empty() ? "" : ", ") + preview(name) + " " + Json(shape_of(value)).dump();
    return list;
  };
  std::map<std::string, std::vector<int64_t>> found;
  bool floating = true;
  for (const auto& [name, info] : module.tensors) {
    found[name] = info.shape;
    floating = floating && (info.dtype == "F32" || info.dtype == "F16" || info.dtype == "BF16");
  }
  if (found == expected && floating) return;
  const auto identity = [](const auto& shape) { return shape; };
  throw refusal(
      {.code = "model.dense",
       .what = floating ? "the weights of a Dense module do not fit its config.json"
                        : "the weights of a Dense module are not floating point",
       .where = where,
       .expected = text(expected, identity) + " in F32, F16 or BF16",
       .found = text(found, identity).substr(0, 400),
       .hint = "config.json and model.safetensors of this folder are from different models"});
}

SentenceModule read_dense(const ModelFolder& folder, std::vector<std::string>& warnings) {
  static constexpr std::array<std::string_view, 7> kKnown = {
      "in_features",       "out_features",       "bias",        "activation_function",
      "module_input_name", "module_output_name", "use_residual"};
  static constexpr const char* kWeights = "model.safetensors";
  const std::string where = folder.path_of(kModuleConfigFile);
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, "model.dense");
  const JsonFields fields(config, where, "model.dense");
  SentenceModule module;
  module.kind = SentenceModule::Kind::kDense;
  module.in_features = fields.integer("in_features", 1, kMaxHiddenSize * 6);
  module.out_features = fields.integer("out_features", 1, kMaxHiddenSize);
  module.bias = fields.boolean_or("bias", true);
  module.activation = dense_activation(fields);
  require_sentence_embedding(fields, where);
  if (fields.boolean_or("use_residual", false)) {
    throw refusal({.code = "model.unsupported",
                   .what = "a Dense module with a residual connection is not supported",
                   .where = where,
                   .expected = "use_residual false or absent",
                   .found = "true",
                   .hint = "encode it with sentence-transformers"});
  }
  for (const auto& [key, value] : config.items()) {
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
      warnings.push_back(where + ": the key '" + preview(key) +
                         "' is not known and ignored, as sentence-transformers does");
    }
  }
  if (!folder.has(kWeights) && folder.has("pytorch_model.bin")) {
    throw refusal({.code = "model.format",
                   .what = "the weights of a Dense module are not in the safetensors format",
                   .where = folder.path(),
                   .expected = kWeights,
                   .found = "pytorch_model.bin",
                   .hint = "pickle files can run code and are never opened. Convert once, with a "
                           "copy you trust:\n"
                           "python -c \"from sentence_transformers import SentenceTransformer; "
                           "SentenceTransformer('DIR').save('NEW_DIR')\""});
  }
  module.tensors = read_safetensors(folder.open_file(kWeights), folder.path_of(kWeights));
  require_dense_tensors(module, folder.path_of(kWeights));
  return module;
}

SentenceModule read_normalize(const ModelFolder& root, const std::string& path) {
  // Most directories name a folder that is not there, since the module had no files before
  // sentence-transformers 5.
  if (!path.empty() && root.has(path)) {
    const ModelFolder folder = root.subfolder(path);
    if (folder.has(kModuleConfigFile)) {
      const Json config = folder.read_json(kModuleConfigFile, kConfigJson, "model.modules");
      require_sentence_embedding(
          JsonFields(config, folder.path_of(kModuleConfigFile), "model.modules"),
          folder.path_of(kModuleConfigFile));
    }
  }
  SentenceModule module;
  module.kind = SentenceModule::Kind::kNormalize;
  return module;
}

void require_order(const ModelFolder& root, const ModuleList& list, bool has_transformer) {
  if (!has_transformer) throw bad_modules(root, "modules.json has no Transformer", "none");
  const auto is_pooling = [](const SentenceModule& m) {
    return m.kind == SentenceModule::Kind::kPooling;
  };
  const auto poolings = std::count_if(list.modules.begin(), list.modules.end(), is_pooling);
  if (poolings == 1 && is_pooling(list.modules.front())) return;
  throw bad_modules(
      root, "modules.json does not have one Pooling right after the Transformer",
      poolings == 1 ? "another module before the Pooling" : std::to_string(poolings) + " of them");
}

}  // namespace

std::optional<ModuleList> read_modules(const ModelFolder& root) {
  if (!root.has(kModulesFile)) return std::nullopt;
  const Json json = root.read_json(kModulesFile, kConfigJson, "model.modules");
  if (!json.is_array() || json.empty() || static_cast<int64_t>(json.size()) > kMaxModules) {
    throw bad_modules(
        root, "modules.json is not a list of 1 to " + std::to_string(kMaxModules) + " modules",
        preview(json.dump()));
  }
  ModuleList list;
  bool has_transformer = false;
  for (const Json& entry : json) {
    const JsonFields fields(entry, root.path_of(kModulesFile), "model.modules");
    const std::string type = fields.string("type");
    const std::string path = fields.string_or("path", "");
    const std::optional<ModuleType> known = module_type(type);
    if (!known)
      throw bad_modules(root, "module type '" + preview(type) + "' is not supported",
                        "'" + preview(type) + "'");
    if (*known == ModuleType::kTransformer) {
      if (std::exchange(has_transformer, true) || !list.modules.empty()) {
        throw bad_modules(root, "the Transformer is not the first module, or not the only one",
                          "'" + preview(path) + "'");
      }
      list.transformer_folder = path;
      continue;
    }
    if (*known == ModuleType::kNormalize) {
      list.modules.push_back(read_normalize(root, path));
    } else {
      const ModelFolder folder = root.subfolder(path);
      list.modules.push_back(*known == ModuleType::kPooling ? read_pooling(folder)
                                                            : read_dense(folder, list.warnings));
    }
    list.modules.back().path = path;
  }
  require_order(root, list, has_transformer);
  return list;
}

int64_t output_dim(const std::vector<SentenceModule>& modules, int64_t hidden_size,
                   const std::string& where) {
  int64_t dim = hidden_size;
  const auto require = [&](const SentenceModule& module, const std::string& name) {
    if (module.in_features == dim) return;
    throw refusal({.code = "model.dim",
                   .what = "module '" + module.path + "' does not fit what comes before it",
                   .where = where,
                   .expected = name + " " + std::to_string(dim),
                   .found = std::to_string(module.in_features),
                   .hint = "a Dense module fits the pooling that the model was trained with: leave "
                           "the pooling as it is"});
  };
  for (const SentenceModule& module : modules) {
    if (module.kind == SentenceModule::Kind::kPooling) {
      require(module, "embedding_dimension");
      dim *= static_cast<int64_t>(module.pooling.size());
    } else if (module.kind == SentenceModule::Kind::kDense) {
      require(module, "in_features");
      dim = module.out_features;
    }
  }
  return dim;
}

}  // namespace encode
