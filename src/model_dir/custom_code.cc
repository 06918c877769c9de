#include "model_dir/custom_code.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/json.h"
#include "base/model_files.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/recipes.h"
#include "model_dir/sentence_modules.h"

namespace encode {
namespace {

constexpr const char* kAutoMap = "auto_map";
constexpr size_t kMaxNameBytes = 256;  // the most bytes of a class name in a message

// A Python class that a file of the directory names.
struct NamedCode {
  std::string place;                   // "config.json: auto_map.AutoModel"
  std::string reference;               // "modeling_qwen.Qwen2Model"
  const CodeRecipe* recipe = nullptr;  // null: encode has no recipe
  std::string effect;                  // what the code may change
};

std::string effect_of(CodeRole role) {
  switch (role) {
    case CodeRole::kConfig:
      return "the settings that config.json does not state";
    case CodeRole::kModel:
      return "the layers and the attention";
    case CodeRole::kTokenizer:
      return "the token ids";
  }
  return "";
}

class CodeFinder {
 public:
  explicit CodeFinder(const ModelFolder& root) : root_(root) {}

  std::vector<NamedCode> find() {
    std::string input_folder;
    bool is_static = false;
    if (root_.has(kModulesFile)) {
      const std::vector<ModuleEntry> entries = read_module_entries(root_);
      input_folder = entries.front().path;
      is_static = entries.front().type == ModuleType::kStatic;
      for (const ModuleEntry& entry : entries) add_module(entry);
    }
    // For a StaticEmbedding, sentence-transformers reads neither config.json nor
    // tokenizer_config.json.
    if (!is_static) read_folder(input_folder.empty() ? root_ : root_.subfolder(input_folder));
    return std::move(found_);
  }

  // Returns whether config.json has is_causal. find() must have been called.
  bool states_causal() const { return states_causal_; }

 private:
  void add_module(const ModuleEntry& entry) {
    if (entry.code.empty()) return;
    found_.push_back({.place = kModulesFile,
                      .reference = entry.code,
                      .recipe = nullptr,
                      .effect = "the steps before and after the transformer"});
  }

  void read_folder(const ModelFolder& folder) {
    const Json tokenizer = read(folder, kTokenizerConfigFile, "model.tokenizer_config");
    const Json config = read(folder, kConfigFile, "model.config");
    if (const auto type = config.find("model_type"); type != config.end() && type->is_string())
      model_type_ = type->get<std::string>();
    const JsonFields fields(config, folder.path_of(kConfigFile), "model.config");
    states_causal_ = fields.has("is_causal");
    add_auto_map(config, fields, kConfigFile);
    const JsonFields tokenizer_fields(tokenizer, folder.path_of(kTokenizerConfigFile),
                                      "model.tokenizer_config");
    add_auto_map(tokenizer, tokenizer_fields, kTokenizerConfigFile);
    // transformers takes the class that tokenizer_config.json states before the code that
    // config.json names.
    if (tokenizer_fields.has("tokenizer_class")) drop_known_tokenizer_of_config();
  }

  static Json read(const ModelFolder& folder, const char* name, ErrorCode code) {
    if (!folder.has(name)) return Json::object();
    Json json = folder.read_json(name, kConfigJson, code);
    return json.is_object() ? json : Json::object();  // other code refuses such a file
  }

  void add_auto_map(const Json& json, const JsonFields& fields, const char* file) {
    if (!fields.has(kAutoMap)) return;
    const Json& map = json.at(kAutoMap);
    // The first releases of transformers wrote only the value of AutoTokenizer instead of a map.
    if (map.is_array() && file == std::string_view(kTokenizerConfigFile)) {
      add(CodeRole::kTokenizer, fields, fmt::format("{}: {}", file, kAutoMap), map);
      return;
    }
    if (!map.is_object()) fields.refuse(kAutoMap, "an object", preview(map.dump()));
    const auto add_entry = [&](CodeRole role, const char* key) {
      const auto entry = map.find(key);
      if (entry == map.end() || entry->is_null()) return;
      add(role, fields, fmt::format("{}: {}.{}", file, kAutoMap, key), *entry);
    };
    if (file == std::string_view(kConfigFile)) {
      add_entry(CodeRole::kConfig, "AutoConfig");
      add_entry(CodeRole::kModel, "AutoModel");
    }
    add_entry(CodeRole::kTokenizer, "AutoTokenizer");
  }

  void add(CodeRole role, const JsonFields& fields, std::string place, const Json& value) {
    const Json* reference = &value;
    if (role == CodeRole::kTokenizer && value.is_array()) {
      // The value is [slow, fast]. The slow class counts if there is no fast one.
      if (value.size() != 2) fields.refuse(kAutoMap, "two classes", preview(value.dump()));
      reference = value[1].is_null() ? &value[0] : &value[1];
    }
    if (!reference->is_string())
      fields.refuse(kAutoMap, "names of classes: file.Class", preview(value.dump()));
    std::string name = reference->get<std::string>();
    const CodeRecipe* recipe = find_code_recipe(role, name, model_type_);
    found_.push_back({.place = std::move(place),
                      .reference = std::move(name),
                      .recipe = recipe,
                      .effect = effect_of(role)});
  }

  void drop_known_tokenizer_of_config() {
    std::erase_if(found_, [](const NamedCode& code) {
      return code.recipe != nullptr && code.recipe->role == CodeRole::kTokenizer &&
             code.place.starts_with(kConfigFile);
    });
  }

  const ModelFolder& root_;
  std::string model_type_;
  bool states_causal_ = false;
  std::vector<NamedCode> found_;
};

std::string described(const NamedCode& code) {
  return fmt::format("{}: '{}'", code.place, preview(code.reference, kMaxNameBytes));
}

// Throws if there is code without a recipe.
void refuse_unknown(const ModelFolder& root, const std::vector<NamedCode>& found) {
  std::vector<std::string> names;
  std::vector<std::string> effects;
  for (const NamedCode& code : found) {
    if (code.recipe != nullptr) continue;
    names.push_back(described(code));
    if (std::find(effects.begin(), effects.end(), code.effect) == effects.end())
      effects.push_back(code.effect);
  }
  if (names.empty()) return;
  throw Error({.code = "model.custom_code",
               .what = fmt::format("the model brings Python code of its own, which encode neither "
                                   "runs nor knows; it may change {}",
                                   fmt::join(effects, ", ")),
               .where = root.path(),
               .expected = "no code, or one of the classes in docs/models.md",
               .found = fmt::format("{}", fmt::join(names, "; ")),
               .hint = "encode it with sentence-transformers; or set semantic.ignore_custom_code: "
                       "true (--ignore-custom-code), and the model is encoded as if it named no "
                       "code"});
}

CodeRecipes ignored(const std::vector<NamedCode>& found) {
  CodeRecipes recipes;
  for (const NamedCode& code : found) {
    recipes.warnings.push_back(fmt::format(
        "ignore_custom_code: {} is ignored, which may change {}: the vectors may differ "
        "from those of the author",
        described(code), code.effect));
  }
  return recipes;
}

CodeRecipes applied(const std::vector<NamedCode>& found, bool states_causal) {
  CodeRecipes recipes;
  for (const NamedCode& code : found) {
    recipes.applied.push_back({.name = std::string(code.recipe->name), .code = described(code)});
    if (code.recipe->bidirectional && !states_causal) recipes.causal = false;
    if (code.recipe->pools_after_prompt) recipes.pools_after_prompt = true;
    if (!code.recipe->unused_key.empty()) recipes.unused_keys.emplace_back(code.recipe->unused_key);
    if (code.recipe->tokenizer != TokenizerRecipe::kNone)
      recipes.tokenizer = code.recipe->tokenizer;
  }
  return recipes;
}

}  // namespace

CodeRecipes find_custom_code(const ModelFolder& root, CustomCodePolicy policy) {
  CodeFinder finder(root);
  const std::vector<NamedCode> found = finder.find();
  if (policy == CustomCodePolicy::kIgnore) return ignored(found);
  refuse_unknown(root, found);
  return applied(found, finder.states_causal());
}

}  // namespace encode
