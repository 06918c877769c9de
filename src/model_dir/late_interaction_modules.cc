#include "model_dir/late_interaction_modules.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/weighted_modules.h"

namespace encode {
namespace {

// Returns the first module of a late-interaction model, which keeps the vectors of all tokens.
SentenceModule all_tokens() {
  SentenceModule module;
  module.kind = SentenceModule::Kind::kPooling;
  module.pooling = {PoolingMode::kNone};
  return module;
}

bool has_vector_mask(const std::vector<ModuleEntry>& entries) {
  return std::ranges::count(entries, ModuleType::kVectorMask, &ModuleEntry::type) > 0;
}

// Returns a list of strings, or one string as a list, as sentence-transformers reads it.
std::vector<std::string> strings(const Json& value, const JsonFields& fields, const char* key) {
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array() || static_cast<int64_t>(value.size()) > kMaxSkipWords)
    fields.refuse(key, fmt::format("a list of at most {} strings", kMaxSkipWords),
                  preview(value.dump()));
  std::vector<std::string> result;
  for (const Json& word : value) {
    if (!word.is_string()) fields.refuse(key, "strings", preview(word.dump()));
    result.push_back(word.get<std::string>());
  }
  return result;
}

// Refuses a Normalize that works on pooled vectors and not on the vectors of tokens: it would
// change nothing.
void require_token_embeddings(const ModelFolder& folder) {
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, "model.modules");
  const JsonFields fields(config, folder.path_of(kModuleConfigFile), "model.modules");
  const std::string input = fields.string_or("module_input_name", "sentence_embedding");
  const std::string output = fields.string_or("module_output_name", input);
  if (input == "token_embeddings" && output == input) return;
  fields.refuse_variant("module_input_name", "\"token_embeddings\", read and written",
                        preview(fmt::format("{} to {}", input, output)));
}

VectorMask read_vector_mask(const ModelFolder& folder) {
  const Json config = folder.read_json(kModuleConfigFile, kConfigJson, "model.modules");
  const JsonFields fields(config, folder.path_of(kModuleConfigFile), "model.modules");
  if (fields.has("keep_only_token_ids") && !fields.array("keep_only_token_ids").empty())
    fields.refuse_variant("keep_only_token_ids", "null: encode keeps all tokens of a text");
  std::vector<std::string> tasks = {"document"};
  if (fields.has("skiplist_tasks"))
    tasks = strings(config.at("skiplist_tasks"), fields, "skiplist_tasks");
  VectorMask mask;
  if (!fields.has("skiplist_words")) return mask;
  std::vector<std::string> words = strings(config.at("skiplist_words"), fields, "skiplist_words");
  if (std::ranges::find(tasks, "document") != tasks.end()) mask.skip_words = std::move(words);
  return mask;
}

}  // namespace

bool is_late_interaction(const std::vector<ModuleEntry>& entries) {
  const auto is = [&entries](size_t i, ModuleType type) { return entries[i].type == type; };
  if (entries.size() < 2 || !is(0, ModuleType::kTransformer)) return false;
  if (has_vector_mask(entries)) return true;
  if (is(1, ModuleType::kTokenDense)) return true;
  return is(1, ModuleType::kDense) &&
         std::none_of(entries.begin(), entries.end(),
                      [](const ModuleEntry& entry) { return entry.type == ModuleType::kPooling; });
}

ModuleList read_late_interaction(const ModelFolder& root, const std::vector<ModuleEntry>& entries) {
  ModuleList list;
  list.input_folder = entries.front().path;
  list.is_late_interaction = true;
  list.modules.push_back(all_tokens());
  bool normalizes = !has_vector_mask(entries);
  for (size_t i = 1; i < entries.size(); ++i) {
    const auto& [type, path, code] = entries[i];
    if (type == ModuleType::kDropout || type == ModuleType::kUnknown) continue;
    if (type == ModuleType::kVectorMask && !list.mask) {
      list.mask = read_vector_mask(root.subfolder(path));
      continue;
    }
    const bool last =
        std::all_of(entries.begin() + static_cast<std::ptrdiff_t>(i) + 1, entries.end(),
                    [](const ModuleEntry& entry) { return entry.type == ModuleType::kVectorMask; });
    if (type == ModuleType::kNormalize && last) {
      if (!normalizes) require_token_embeddings(root.subfolder(path));
      normalizes = true;
      continue;
    }
    if (type != ModuleType::kDense && type != ModuleType::kTokenDense) {
      throw bad_modules(root, "a late-interaction model has a module that is not a Dense",
                        fmt::format("'{}'", preview(path)));
    }
    const bool pylate = type == ModuleType::kTokenDense;
    list.modules.push_back(read_token_dense(root.subfolder(path), pylate, list.warnings));
    list.modules.back().path = path;
  }
  if (!normalizes) return list;
  SentenceModule normalize;
  normalize.kind = SentenceModule::Kind::kNormalize;
  list.modules.push_back(std::move(normalize));
  return list;
}

}  // namespace encode
