#include "model_dir/needed_files.h"

#include <algorithm>
#include <fmt/format.h>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/units.h"
#include "model_dir/custom_code.h"
#include "model_dir/model_folder.h"
#include "model_dir/sentence_modules.h"
#include "model_dir/sentence_settings.h"
#include "model_dir/supported_architectures.h"
#include "model_dir/transformer_config.h"
#include "model_dir/weight_files.h"

namespace encode {
namespace {

bool has_weights(ModuleType type) {
  return type == ModuleType::kDense || type == ModuleType::kTokenDense ||
         type == ModuleType::kLayerNorm;
}

bool is_input(ModuleType type) {
  return type == ModuleType::kTransformer || type == ModuleType::kStatic;
}

void require_architecture(const ModelFolder& folder) {
  const TransformerConfig config = read_transformer_config(folder);
  if (find_architecture(config.model_type) == nullptr)
    throw unsupported_architecture(config.model_type, folder.path_of(kConfigFile));
}

// Collects the files in rounds. Each function adds the files that the downloaded files name.
class Selection {
 public:
  Selection(const std::set<std::string>& available, const std::string& folder,
            CustomCodePolicy code)
      : available_(available), root_(ModelFolder::open(folder, nullptr)), code_(code) {}

  std::vector<std::string> run() {
    add("", kModulesFile);
    if (!complete()) return result();
    if (available_.contains(kModulesFile)) add_modules();
    add_input();
    if (!complete()) return result();
    find_custom_code(root_, code_);  // refuses code before large files are downloaded
    add_weights();
    return result();
  }

 private:
  void add(const std::string& prefix, const std::string& name) {
    if (available_.contains(prefix + name)) needed_.insert(prefix + name);
  }

  bool has(const std::string& file) const {
    const size_t slash = file.rfind('/');
    if (slash == std::string::npos) return root_.has(file);
    const std::string folder = file.substr(0, slash);
    return root_.has_folder(folder) && root_.subfolder(folder).has(file.substr(slash + 1));
  }

  bool complete() const {
    return std::all_of(needed_.begin(), needed_.end(),
                       [this](const std::string& file) { return has(file); });
  }

  // Returns the file with all weights of a folder, or "". The order is that of read_weights().
  std::string weights_of(const std::string& prefix) const {
    for (const WeightFormat& format : kWeightFormats) {
      if (available_.contains(prefix + format.file)) return prefix + format.file;
    }
    return "";
  }

  // Returns the format of the index with the transformer's shards. Returns nullptr if there is no
  // index, or if a single file takes precedence over it.
  const WeightFormat* index_format() const {
    for (const WeightFormat& format : kWeightFormats) {
      if (available_.contains(prefix_ + format.file)) return nullptr;
      if (available_.contains(prefix_ + format.index)) return &format;
    }
    return nullptr;
  }

  // Returns the names in a folder of the repository.
  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const std::string& file : available_) {
      if (file.starts_with(prefix) && file.find('/', prefix.size()) == std::string::npos)
        found.push_back(file.substr(prefix.size()));
    }
    return found;
  }

  std::string where(const std::string& prefix) const {
    return fmt::format("{}{}", root_.path(), prefix.empty() ? "" : "/" + prefix);
  }

  void add_modules() {
    for (const ModuleEntry& module : read_module_entries(root_)) {
      if (!module.path.empty()) root_.has_folder(module.path);  // refuses an unsafe name
      const std::string prefix = module.path.empty() ? "" : module.path + "/";
      if (is_input(module.type)) {
        prefix_ = prefix;
        is_static_ = module.type == ModuleType::kStatic;
        continue;
      }
      if (module.path.empty() || module.type == ModuleType::kUnknown) continue;
      add(prefix, kModuleConfigFile);
      if (!has_weights(module.type)) continue;
      if (weights_of(prefix).empty()) refuse_no_weights(where(prefix), names(prefix));
      modules_with_weights_.push_back(prefix);
    }
  }

  // Adds the small files of the transformer. Refuses a repository that can never be used before
  // anything large is downloaded.
  void add_input() {
    if (!is_static_ && !available_.contains(prefix_ + kConfigFile)) {
      throw Error({.code = "model.missing",
                   .what = "the repository has no config.json, so it is not a model that encode "
                           "can load",
                   .where = where(prefix_),
                   .expected = "a transformers or sentence-transformers model",
                   .found = fmt::format("{} other files", available_.size()),
                   .hint = "choose the repository from which this one was made: it usually has "
                           "the name without a suffix such as -GGUF or -onnx"});
    }
    if (weights_of(prefix_).empty() && (is_static_ || index_format() == nullptr))
      refuse_no_weights(where(prefix_), names(prefix_));
    if (const WeightFormat* index = index_format(); index != nullptr && !is_static_)
      add(prefix_, index->index);
    add("", kSettingsFile);
    add(prefix_, kConfigFile);
    add(prefix_, kAdapterFile);  // read_transformer_config() refuses the model because of it
    for (const char* name : kSentenceConfigFiles) add(prefix_, name);
    for (const char* name : kTokenizerFiles) add(prefix_, name);
    for (const char* name : kFilesBesideTokenizer) add(prefix_, name);
  }

  void add_weights() {
    const ModelFolder folder =
        prefix_.empty() ? root_ : root_.subfolder(prefix_.substr(0, prefix_.size() - 1));
    if (!is_static_) require_architecture(folder);
    for (const std::string& prefix : modules_with_weights_) needed_.insert(weights_of(prefix));
    const WeightFormat* index = index_format();
    if (is_static_ || index == nullptr) {
      needed_.insert(weights_of(prefix_));
      return;
    }
    for (const std::string& shard : read_shard_names(folder, *index)) {
      folder.has(shard);  // refuses an unsafe name
      if (!available_.contains(prefix_ + shard)) {
        throw Error({.code = "model.missing",
                     .what = "the repository does not have a shard that its index names",
                     .where = folder.path_of(index->index),
                     .expected = preview(shard),
                     .found = "no such file in the repository",
                     .hint = "choose another revision of the model"});
      }
      add(prefix_, shard);
    }
  }

  std::vector<std::string> result() const { return {needed_.begin(), needed_.end()}; }

  const std::set<std::string>& available_;
  ModelFolder root_;
  CustomCodePolicy code_;
  std::string prefix_;  // the prefix of the first module: "" or "0_Transformer/"
  bool is_static_ = false;
  std::vector<std::string> modules_with_weights_;  // the prefixes of modules, such as "2_Dense/"
  std::set<std::string> needed_;
};

}  // namespace

std::vector<std::string> needed_files(const std::set<std::string>& available,
                                      const std::string& folder, CustomCodePolicy code) {
  return Selection(available, folder, code).run();
}

}  // namespace encode
