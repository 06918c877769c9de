#include "model_dir/sentence_modules.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "encode/error.h"

#include "base/json.h"
#include "base/pooling_modes.h"
#include "base/units.h"
#include "model_dir/hub_cache.h"
#include "model_dir/late_interaction_modules.h"
#include "model_dir/limits.h"
#include "model_dir/weighted_modules.h"

namespace encode {
namespace {

struct ModuleClass {
  std::string_view name;
  std::string_view file;  // the file of sentence-transformers 6, without .py
  ModuleType type;
};

constexpr auto kModuleClasses = std::to_array<ModuleClass>({
    {"Transformer", "transformer", ModuleType::kTransformer},
    {"StaticEmbedding", "static_embedding", ModuleType::kStatic},
    {"Pooling", "pooling", ModuleType::kPooling},
    {"Dense", "dense", ModuleType::kDense},
    {"LayerNorm", "layer_norm", ModuleType::kLayerNorm},
    {"Normalize", "normalize", ModuleType::kNormalize},
    {"Dropout", "dropout", ModuleType::kDropout},
    {"MultiVectorMask", "multi_vector_mask", ModuleType::kVectorMask},
});

// Reads the type strings of sentence-transformers 2 to 6: "<package>.<Class>" or
// "<package>.<file>.<Class>". Before version 6 the file has the name of the class.
std::optional<ModuleType> module_type(std::string_view type) {
  if (type == "pylate.models.Dense.Dense" || type == "pylate.models.Dense")
    return ModuleType::kTokenDense;
  static constexpr std::array<std::string_view, 4> kPackages = {
      "sentence_transformers.models.", "sentence_transformers.base.modules.",
      "sentence_transformers.sentence_transformer.modules.",
      "sentence_transformers.multi_vector_encoder.modules."};
  for (const std::string_view package : kPackages) {
    if (!type.starts_with(package)) continue;
    const std::string_view rest = type.substr(package.size());
    for (const ModuleClass& known : kModuleClasses) {
      const size_t dot = rest.rfind('.');
      const std::string_view file =
          dot == std::string_view::npos ? known.file : rest.substr(0, dot);
      const std::string_view name = rest.substr(dot + 1);
      if (name == known.name && (file == known.file || file == known.name)) return known.type;
    }
  }
  return std::nullopt;
}

std::vector<PoolingMode> pooling_modes(const Json& config, const JsonFields& fields,
                                       const std::string& where) {
  std::vector<PoolingMode> modes;
  if (fields.has("pooling_mode")) {  // the newer form, which overrides the older keys
    const Json& mode = config.at("pooling_mode");
    const std::vector<Json> names =
        mode.is_array() ? mode.get<std::vector<Json>>() : std::vector<Json>{mode};
    if (names.empty() || names.size() > kDirectoryPoolings.size())
      fields.refuse("pooling_mode", fmt::format("1 to {} modes", kDirectoryPoolings.size()),
                    fmt::to_string(names.size()));
    for (const Json& name : names) {
      if (!name.is_string())
        fields.refuse("pooling_mode", "a string or a list of strings", preview(name.dump()));
      modes.push_back(
          parse_pooling_mode(name.get<std::string>(), fmt::format("{}, pooling_mode", where)));
      if (facts_of(modes.back()).place == 0) {
        const std::string found = fmt::format("'{}'", to_string(modes.back()));
        fields.refuse("pooling_mode", "a pooling mode: only the options of a run may say " + found,
                      found);
      }
    }
    return modes;
  }
  // The older form. The order of the switches in the file does not matter.
  for (const PoolingMode mode : kDirectoryPoolings) {
    if (fields.boolean_or(std::string(facts_of(mode).switch_name), false)) modes.push_back(mode);
  }
  if (modes.empty()) modes.push_back(PoolingMode::kMean);
  return modes;
}

// Refuses a switch that is on and that sentence-transformers 6 does not have: another version
// pools in a way that this code does not know.
void refuse_unknown_switches(const Json& config, const JsonFields& fields) {
  std::vector<std::string_view> known = {"pooling_mode", "include_prompt", "embedding_dimension",
                                         "word_embedding_dimension"};
  for (const PoolingMode mode : kDirectoryPoolings) known.push_back(facts_of(mode).switch_name);
  for (const auto& [key, value] : config.items()) {
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (value == true && !is_known)
      fields.refuse_variant(key, "false, or a key of sentence-transformers 6");
  }
}

SentenceModule read_pooling(const ModelFolder& folder) {
  const std::string where = folder.path_of(kModuleConfigFile);
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, "model.pooling");
  const JsonFields fields(config, where, "model.pooling");
  SentenceModule module;
  module.kind = SentenceModule::Kind::kPooling;
  refuse_unknown_switches(config, fields);
  module.pooling = pooling_modes(config, fields, where);
  module.include_prompt = fields.boolean_or("include_prompt", true);
  const char* width =
      fields.has("embedding_dimension") ? "embedding_dimension" : "word_embedding_dimension";
  module.in_features = fields.integer(width, 1, kMaxHiddenSize);
  return module;
}

SentenceModule read_normalize(const ModelFolder& root, const std::string& path) {
  // Most directories name a folder that does not exist, because the module had no files before
  // sentence-transformers 5.
  if (!path.empty() && root.has_folder(path)) {
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

// Returns the second part of a StaticEmbedding, which takes the mean of the token vectors.
SentenceModule mean_of_tokens() {
  SentenceModule module;
  module.kind = SentenceModule::Kind::kPooling;
  module.pooling = {PoolingMode::kMean};
  return module;
}

void require_order(const ModelFolder& root, const ModuleList& list, bool has_input) {
  if (!has_input)
    throw bad_modules(root, "modules.json has no Transformer and no StaticEmbedding", "none");
  const auto is_pooling = [](const SentenceModule& m) {
    return m.kind == SentenceModule::Kind::kPooling;
  };
  const auto poolings = std::count_if(list.modules.begin(), list.modules.end(), is_pooling);
  if (poolings == 1 && is_pooling(list.modules.front())) return;
  if (list.is_static)
    throw bad_modules(root, "a StaticEmbedding is followed by a Pooling",
                      fmt::format("{} of them", poolings - 1));
  throw bad_modules(
      root, "modules.json does not have one Pooling right after the Transformer",
      poolings == 1 ? "another module before the Pooling" : fmt::format("{} of them", poolings));
}

// Builds the ModuleList entry by entry.
class ModuleReader {
 public:
  explicit ModuleReader(const ModelFolder& root) : root_(root) {}

  void read(const ModuleEntry& entry) {
    const size_t before = list_.modules.size();
    add(entry.type, entry.path);
    if (list_.modules.size() > before) list_.modules.back().path = entry.path;
  }

  ModuleList finish() {
    require_order(root_, list_, has_input_);
    return std::move(list_);
  }

 private:
  void add(ModuleType type, const std::string& path) {
    switch (type) {
      case ModuleType::kTransformer:
      case ModuleType::kStatic:
        if (std::exchange(has_input_, true) || !list_.modules.empty()) {
          throw bad_modules(root_,
                            "the Transformer or StaticEmbedding is not the first module, or not "
                            "the only one",
                            fmt::format("'{}'", preview(path)));
        }
        list_.input_folder = path;
        list_.is_static = type == ModuleType::kStatic;
        if (list_.is_static) list_.modules.push_back(mean_of_tokens());
        break;
      case ModuleType::kPooling:
        list_.modules.push_back(read_pooling(root_.subfolder(path)));
        break;
      case ModuleType::kDense:
        list_.modules.push_back(read_dense(root_.subfolder(path), list_.warnings));
        break;
      case ModuleType::kTokenDense:
        throw bad_modules(root_, "a Dense of PyLate does not follow the Transformer",
                          fmt::format("'{}'", preview(path)));
      case ModuleType::kVectorMask:
        throw bad_modules(root_, "a MultiVectorMask in a model that pools",
                          fmt::format("'{}'", preview(path)));
      case ModuleType::kLayerNorm:
        list_.modules.push_back(read_layer_norm(root_.subfolder(path)));
        break;
      case ModuleType::kNormalize:
        list_.modules.push_back(read_normalize(root_, path));
        break;
      case ModuleType::kDropout:  // has no effect outside of training
      case ModuleType::kUnknown:
        break;
    }
  }

  const ModelFolder& root_;
  ModuleList list_;
  bool has_input_ = false;
};

// Returns a relative path without its empty parts and without ".", which sentence-transformers
// accepts because it joins paths: "./2_Dense/" becomes "2_Dense". An absolute path stays as it is,
// and so does "..". Opening such a folder is refused.
std::string plain_path(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::string plain;
  for (const std::string& part : split_path(path)) {
    if (part.empty() || part == ".") continue;
    plain += plain.empty() ? part : "/" + part;
  }
  return plain;
}

}  // namespace

Error bad_modules(const ModelFolder& root, std::string what, std::string found) {
  return Error({.code = "model.modules",
                .what = std::move(what),
                .where = root.path_of(kModulesFile),
                .expected =
                    "a Transformer, then one Pooling, or a StaticEmbedding; then any "
                    "number of Dense, LayerNorm, Normalize and Dropout; or the "
                    "Transformer, Dense and MultiVectorMask modules of a late-interaction model",
                .found = std::move(found),
                .hint = "encode it with sentence-transformers, or remove modules.json to use "
                        "the transformer alone"});
}

std::vector<ModuleEntry> read_module_entries(const ModelFolder& root) {
  const Json json = root.read_json(kModulesFile, kConfigJson, "model.modules");
  if (!json.is_array() || json.empty() || static_cast<int64_t>(json.size()) > kMaxModules) {
    throw bad_modules(root,
                      fmt::format("modules.json is not a list of 1 to {} modules", kMaxModules),
                      preview(json.dump()));
  }
  std::vector<ModuleEntry> entries;
  for (const Json& entry : json) {
    const JsonFields fields(entry, root.path_of(kModulesFile), "model.modules");
    const std::string type = fields.string("type");
    std::optional<ModuleType> known = module_type(type);
    const bool is_class = type.find('.') != std::string::npos;  // of a package or of a file
    const bool code = !known && is_class && !type.starts_with("sentence_transformers.");
    if (code) known = entries.empty() ? ModuleType::kTransformer : ModuleType::kUnknown;
    if (!known)
      throw bad_modules(root, fmt::format("module type '{}' is not supported", preview(type)),
                        fmt::format("'{}'", preview(type)));
    entries.push_back({.type = *known,
                       .path = plain_path(fields.string_or("path", "")),
                       .code = code ? type : ""});
  }
  return entries;
}

std::optional<ModuleList> read_modules(const ModelFolder& root) {
  if (!root.has(kModulesFile)) return std::nullopt;
  const std::vector<ModuleEntry> entries = read_module_entries(root);
  if (is_late_interaction(entries)) return read_late_interaction(root, entries);
  ModuleReader reader(root);
  for (const ModuleEntry& entry : entries) reader.read(entry);
  return reader.finish();
}

int64_t output_dim(const std::vector<SentenceModule>& modules, int64_t hidden_size,
                   const std::string& where) {
  int64_t dim = hidden_size;
  const auto require = [&](const SentenceModule& module, const std::string& name) {
    if (module.in_features == dim) return;
    throw Error({.code = "model.dim",
                 .what = fmt::format("the input width of module '{}' is not the width before it",
                                     module.path),
                 .where = where,
                 .expected = fmt::format("{} {}", name, dim),
                 .found = fmt::to_string(module.in_features),
                 .hint = "config.json and the modules must be of one model; if `pooling` is set, "
                         "leave it out"});
  };
  for (const SentenceModule& module : modules) {
    if (module.kind == SentenceModule::Kind::kPooling) {
      require(module, "embedding_dimension");
      dim *= static_cast<int64_t>(module.pooling.size());
    } else if (module.kind == SentenceModule::Kind::kDense) {
      require(module, "in_features");
      dim = module.out_features;
    } else if (module.kind == SentenceModule::Kind::kLayerNorm) {
      require(module, "dimension");
    } else if (module.kind == SentenceModule::Kind::kTruncate) {
      dim = module.out_features;
    }
  }
  return dim;
}

}  // namespace encode
