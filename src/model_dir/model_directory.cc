#include "encode/model_directory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/units.h"
#include "model_dir/model_folder.h"
#include "model_dir/prompts.h"
#include "model_dir/sentence_modules.h"
#include "model_dir/transformer_config.h"
#include "model_dir/weight_files.h"

namespace encode {
namespace {

// Opens (and so checks and records) what a tokenizer may be built from.
void visit_tokenizer_files(const ModelFolder& folder) {
  static constexpr std::array<const char*, 11> kNames = {"tokenizer.json",
                                                         "tokenizer_config.json",
                                                         "special_tokens_map.json",
                                                         "added_tokens.json",
                                                         "vocab.txt",
                                                         "vocab.json",
                                                         "merges.txt",
                                                         "tokenizer.model",
                                                         "spiece.model",
                                                         "sentencepiece.bpe.model",
                                                         "sentencepiece.model"};
  for (const char* name : kNames) {
    if (folder.has(name)) folder.open_file(name);
  }
}

// What sentence-transformers makes of a directory without modules.json.
ModuleList default_modules(const ModelFolder& root, const TransformerConfig& config) {
  SentenceModule pooling;
  pooling.kind = SentenceModule::Kind::kPooling;
  pooling.pooling = {config.causal_lm ? PoolingMode::kLastToken : PoolingMode::kMean};
  pooling.in_features = config.hidden_size;
  ModuleList list;
  list.warnings.push_back(
      root.path() + " has no modules.json: '" + std::string(to_string(pooling.pooling[0])) +
      "' pooling without normalization is assumed, as sentence-transformers does; "
      "set pooling and normalize if the model was trained otherwise");
  if (root.has(kPromptsFile)) {
    list.warnings.push_back(root.path_of(kPromptsFile) + " is not used: there is no modules.json");
  }
  list.modules.push_back(std::move(pooling));
  return list;
}

// See ModelDirectory::max_seq_length. `stated` is sentence_bert_config.json's, which goes before
// everything else.
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
      warnings.push_back("the model states a maximum of " + format_count(*limit) +
                         " tokens but has positions for " + format_count(config.position_limit) +
                         ": longer texts are cut there");
    }
    limit = config.position_limit;
  }
  return limit;
}

}  // namespace

ModelDirectory open_model_directory(const std::string& path) {
  const ModelFolder root = ModelFolder::open(path);
  std::optional<ModuleList> listed = read_modules(root);
  const bool plain = !listed || listed->transformer_folder.empty();
  const ModelFolder folder = plain ? root : root.subfolder(listed->transformer_folder);
  const TransformerConfig config = read_transformer_config(folder);
  // Like sentence-transformers, its settings and prompts are read only where there is a
  // modules.json.
  const std::optional<int64_t> stated = listed ? read_sentence_bert_config(folder) : std::nullopt;
  Prompts prompts = listed ? read_prompts(root) : Prompts{};
  ModuleList list = listed ? std::move(*listed) : default_modules(root, config);
  output_dim(list.modules, config.hidden_size, root.path());

  ModelDirectory directory;
  directory.path = root.path();
  directory.transformer_path = folder.path();
  directory.model_type = config.model_type;
  directory.hidden_size = config.hidden_size;
  directory.vocab_size = config.vocab_size;
  directory.max_position_embeddings = config.max_position_embeddings;
  directory.position_limit = config.position_limit;
  directory.modules = std::move(list.modules);
  directory.warnings = std::move(list.warnings);
  directory.max_seq_length =
      max_seq_length(stated, read_model_max_length(folder), config, directory.warnings);
  directory.prompts = std::move(prompts.texts);
  directory.default_prompt_name = std::move(prompts.default_name);
  directory.tensors = read_weights(folder);
  directory.config_json = config.text;
  visit_tokenizer_files(folder);
  directory.files = root.opened_files();
  return directory;
}

}  // namespace encode
