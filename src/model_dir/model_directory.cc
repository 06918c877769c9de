#include "encode/model_directory.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/json.h"
#include "base/units.h"
#include "model_dir/custom_code.h"
#include "model_dir/limits.h"
#include "model_dir/model_folder.h"
#include "model_dir/not_a_model.h"
#include "model_dir/sentence_modules.h"
#include "model_dir/sentence_settings.h"
#include "model_dir/static_embedding.h"
#include "model_dir/transformer_config.h"
#include "model_dir/weight_files.h"

namespace encode {
namespace {

// Opens the files of the tokenizer, so that ModelFolder checks and records them.
void visit_tokenizer_files(const ModelFolder& folder) {
  const auto visit = [&folder](const char* name) {
    if (folder.has(name)) folder.open_file(name);
  };
  for (const char* name : kTokenizerFiles) visit(name);
  for (const char* name : kFilesBesideTokenizer) visit(name);
}

SentenceModule make_pooling(PoolingMode mode, int64_t hidden_size) {
  SentenceModule pooling;
  pooling.kind = SentenceModule::Kind::kPooling;
  pooling.pooling = {mode};
  pooling.in_features = hidden_size;
  return pooling;
}

// Adds the modules that a recipe prescribes for a directory without modules.json.
void use_modules_of_recipe(int64_t hidden_size, ModelDirectory& directory) {
  SentenceModule pooling = make_pooling(PoolingMode::kMean, hidden_size);
  pooling.include_prompt = false;
  SentenceModule normalize;
  normalize.kind = SentenceModule::Kind::kNormalize;
  directory.modules = {std::move(pooling), std::move(normalize)};
}

// Adds the modules that sentence-transformers assumes for a directory without modules.json. Refuses
// a checkpoint of Stanford's ColBERT, because its last module is a tensor in the file of the
// transformer.
void use_default_modules(const ModelFolder& root, const TransformerConfig& config,
                         ModelDirectory& directory) {
  if (config.stanford_colbert) {
    throw Error({.code = "model.unsupported",
                 .what = "the directory is a checkpoint of Stanford's ColBERT, which has no list "
                         "of modules",
                 .where = root.path_of(kConfigFile),
                 .expected = "the format of PyLate or sentence-transformers, with modules.json",
                 .found = "HF_ColBERT in architectures",
                 .hint = "load it with MultiVectorEncoder of sentence-transformers 6 and save it "
                         "with save_pretrained(), or take a converted repository, such as "
                         "lightonai/colbertv2.0"});
  }
  SentenceModule pooling = make_pooling(
      config.causal_lm ? PoolingMode::kLastToken : PoolingMode::kMean, config.hidden_size);
  directory.warnings.push_back(
      fmt::format("{} has no modules.json: encode assumes '{}' pooling without normalization, as "
                  "sentence-transformers does; set pooling and normalize if the model was trained "
                  "otherwise",
                  root.path(), to_string(pooling.pooling[0])));
  if (root.has(kSettingsFile)) {
    directory.warnings.push_back(fmt::format("{} is not used, because there is no modules.json",
                                             root.path_of(kSettingsFile)));
  }
  directory.modules.push_back(std::move(pooling));
}

// Returns ModelDirectory::max_seq_length. `stated`, the value of sentence_bert_config.json, takes
// precedence.
std::optional<int64_t> max_seq_length(std::optional<int64_t> stated,
                                      std::optional<int64_t> model_max_length,
                                      const TransformerConfig& config,
                                      std::vector<std::string>& warnings) {
  std::optional<int64_t> limit = stated;
  if (!limit) {
    limit = model_max_length;
    if (config.max_position_embeddings > 0) {
      limit =
          std::min(limit.value_or(config.max_position_embeddings), config.max_position_embeddings);
    }
  }
  if (config.position_limit > 0 && limit && *limit > config.position_limit) {
    if (stated || model_max_length) {
      warnings.push_back(fmt::format(
          "the model states a maximum of {} tokens, but has positions for {}: longer texts are cut "
          "to {} tokens",
          format_count(*limit), format_count(config.position_limit),
          format_count(config.position_limit)));
    }
    limit = config.position_limit;
  }
  return limit;
}

// Fills in the fields that come from the folder of the transformer.
void describe_transformer(const ModelFolder& folder, const TransformerConfig& config,
                          std::optional<int64_t> stated_length, ModelDirectory& directory) {
  directory.model_type = config.model_type;
  directory.hidden_size = config.hidden_size;
  directory.vocab_size = config.vocab_size;
  directory.max_position_embeddings = config.max_position_embeddings;
  directory.position_limit = config.position_limit;
  directory.max_seq_length =
      max_seq_length(stated_length, read_model_max_length(folder), config, directory.warnings);
  directory.tensors = read_weights(folder);
  directory.warnings.insert(directory.warnings.end(), config.warnings.begin(),
                            config.warnings.end());
  directory.config_json = config.text;
}

void describe_static(const ModelFolder& folder, ModelDirectory& directory) {
  StaticEmbedding embedding = read_static_embedding(folder);
  directory.model_type = kStaticEmbedding;
  directory.hidden_size = embedding.hidden_size;
  directory.vocab_size = embedding.vocab_size;
  directory.add_special_tokens = false;
  directory.modules.front().in_features = embedding.hidden_size;
  directory.max_seq_length = embedding.max_length.value_or(kMaxPositions);
  directory.tensors = std::move(embedding.tensors);
  directory.config_json = Json{
      {"model_type", kStaticEmbedding},
      {"hidden_size", embedding.hidden_size},
      {"vocab_size",
       embedding.vocab_size}}.dump();
}

// Fills in the fields of a directory with modules.json. As in sentence-transformers, a directory
// without modules.json has no settings.
void describe_modules(const ModelFolder& root, ModuleList list, ModelDirectory& directory) {
  SentenceSettings settings = read_sentence_settings(root, list.kind());
  directory.modules = std::move(list.modules);
  directory.warnings = std::move(list.warnings);
  directory.warnings.insert(directory.warnings.end(), settings.warnings.begin(),
                            settings.warnings.end());
  directory.prompts = std::move(settings.prompts);
  directory.default_prompt_name = std::move(settings.default_prompt_name);
  directory.similarity = std::move(settings.similarity);
  directory.truncate_dim = settings.truncate_dim;
  directory.late_interaction = std::move(settings.late_interaction);
  if (settings.document_length > 0) directory.max_seq_length = settings.document_length;
  if (list.mask) directory.late_interaction->skip_words = std::move(list.mask->skip_words);
}

// Opens the folder of the transformer, which is the directory itself or a folder in it.
ModelFolder transformer_folder(const ModelDirectory& directory) {
  ModelFolder root = ModelFolder::open(directory.path, directory.opened);
  if (directory.transformer_path == directory.path) return root;
  return root.subfolder(directory.transformer_path.substr(directory.path.size() + 1));
}

// Returns the text of a config.json in which `keys` are null.
std::string without_keys(const std::string& config, const std::vector<std::string>& keys) {
  if (keys.empty()) return config;
  Json json = parse_json(config, kConfigJson, kConfigFile, "model.config");
  for (const std::string& key : keys) json[key] = nullptr;
  return json.dump();
}

ModelDirectory describe(const ModelFolder& root, CustomCodePolicy policy) {
  // The code is checked first. If it is refused, its error explains more than the errors of the
  // other files.
  CodeRecipes code = find_custom_code(root, policy);
  std::optional<ModuleList> list = read_modules(root);
  const bool plain = !list;
  const bool is_static = list && list->is_static;
  const bool is_multi_vector = list && list->mask;
  const std::string input_folder = list ? list->input_folder : "";
  const ModelFolder folder = input_folder.empty() ? root : root.subfolder(input_folder);

  ModelDirectory directory;
  directory.path = root.path();
  directory.transformer_path = folder.path();
  if (list) describe_modules(root, std::move(*list), directory);
  if (is_static) {
    describe_static(folder, directory);
  } else {
    const TransformerConfig config = read_transformer_config(folder);
    if (plain && code.pools_after_prompt)
      use_modules_of_recipe(config.hidden_size, directory);
    else if (plain)
      use_default_modules(root, config, directory);
    SentenceBertConfig stated;
    if (!plain) stated = read_sentence_bert_config(folder, is_multi_vector);
    if (directory.late_interaction) {
      directory.modules.front().in_features = config.hidden_size;
      directory.late_interaction->unknown_token = read_unknown_token(folder);
      // document_length overrides max_seq_length. PyLate stores it in another file.
      if (directory.max_seq_length) stated.document_length = directory.max_seq_length;
      if (stated.document_length) stated.max_seq_length = stated.document_length;
    }
    directory.lower_case_first = stated.do_lower_case;
    describe_transformer(folder, config, stated.max_seq_length, directory);
    directory.config_json = without_keys(directory.config_json, code.unused_keys);
  }
  directory.warnings.insert(directory.warnings.end(), code.warnings.begin(), code.warnings.end());
  directory.recipes = std::move(code.applied);
  directory.recipe_causal = code.causal;
  directory.tokenizer_recipe = code.tokenizer;
  output_dim(directory.modules, directory.hidden_size, root.path());
  visit_tokenizer_files(folder);
  directory.files = root.opened()->files();
  directory.opened = root.opened();
  return directory;
}

}  // namespace

ModelDirectory open_model_directory(const std::string& path, CustomCodePolicy code) {
  const ModelFolder root = ModelFolder::open(path, nullptr);
  require_model(root);
  return describe(root, code);
}

ModelDirectory open_model_directory(const std::string& path, std::vector<FileHash> expected,
                                    CustomCodePolicy code) {
  return describe(ModelFolder::open(path, std::make_shared<OpenedFiles>(std::move(expected))),
                  code);
}

TokenizerSource read_tokenizer_source(const ModelDirectory& directory,
                                      const TokenizerRules& rules) {
  const ModelFolder folder = transformer_folder(directory);
  // sentence-transformers reads only the tokenizer.json of a StaticEmbedding.
  const bool is_static = directory.model_type == kStaticEmbedding;
  TokenizerSource source = make_tokenizer_source(
      folder.path(), [&](const std::string& name) -> std::optional<std::string> {
        if ((is_static && name != kTokenizerJsonFile) || !folder.has(name)) return std::nullopt;
        return folder.read_text(name, kMaxTokenizerBytes, "tokenizer.format");
      });
  source.rules = rules;
  return source;
}

}  // namespace encode
