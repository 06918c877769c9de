#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/batch_plan.h"
#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/sentence_modules.h"

namespace encode {
namespace {

std::string prompt_in_force(const ModelDirectory& directory, const ResultOptions& options) {
  if (options.prompt) return *options.prompt;
  const std::optional<std::string>& name =
      options.prompt_name ? options.prompt_name : directory.default_prompt_name;
  if (!name) return "";
  const auto found = directory.prompts.find(*name);
  if (found != directory.prompts.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [valid, text] : directory.prompts) names.push_back(preview(valid));
  throw Error({.code = "model.prompt_name",
               .what = "the model has no prompt of this name",
               .where = directory.path,
               .expected = names.empty() ? "no prompt_name: this model has no prompts"
                                         : one_of(names, *name),
               .found = fmt::format("'{}'", preview(*name)),
               .hint = "give the text of the prompt instead: --prompt TEXT (semantic.prompt)"});
}

int64_t max_length_in_force(const ModelDirectory& directory, const ResultOptions& options) {
  const int64_t least = directory.late_interaction ? directory.late_interaction->least_length() : 1;
  if (!options.max_length) return directory.max_seq_length.value_or(kDefaultMaxLength);
  const int64_t most = directory.position_limit > 0 ? directory.position_limit : kMaxPositions;
  if (*options.max_length >= least && *options.max_length <= most) return *options.max_length;
  throw Error(
      {.code = "model.max_length",
       .what = "max_length is not possible with this model",
       .where = directory.path,
       .expected =
           fmt::format("{} to {}{}", least, most,
                       directory.position_limit > 0 ? ", the learned positions of the model" : ""),
       .found = fmt::to_string(*options.max_length),
       .hint = "leave --max-length (semantic.max_length) out to use the limit of the model"});
}

// Refuses pooled vectors and queries of a late-interaction model.
void require_token_vectors_of_documents(const ModelDirectory& directory,
                                        const ResultOptions& options) {
  if (options.pooling && *options.pooling != PoolingMode::kNone) {
    throw Error({.code = "model.pooling",
                 .what = "a late-interaction model has no pooled vectors",
                 .where = directory.path,
                 .expected = "pooling none, or no pooling in the options",
                 .found = std::string(to_string(*options.pooling)),
                 .hint = "leave --pooling (semantic.pooling) out: every token gets a vector"});
  }
  const std::optional<std::string>& name =
      options.prompt_name ? options.prompt_name : directory.default_prompt_name;
  if (options.prompt || name != "query") return;
  throw Error({.code = "model.unsupported",
               .what = "encode does not encode the queries of a late-interaction model",
               .where = directory.path,
               .expected = "documents: a prompt, or a prompt_name other than 'query'",
               .found = options.prompt_name ? "prompt_name 'query'"
                                            : "the directory's default_prompt_name 'query'",
               .hint = "encode queries with PyLate; for documents give --prompt (semantic.prompt), "
                       "for example ''"});
}

void check_late_vectors(const ModelDirectory& directory, const EffectiveResult& result) {
  if (result.pooling == std::vector{PoolingMode::kMean}) return;
  std::vector<std::string_view> names;
  for (const PoolingMode mode : result.pooling) names.push_back(to_string(mode));
  throw Error({.code = "model.pooling",
               .what = "late vectors of passages are means over the tokens of a passage",
               .where = directory.path,
               .expected = "a model with mean pooling",
               .found = fmt::format("pooling {}", fmt::join(names, ", ")),
               .hint = "encode each passage alone: --passage-vectors alone "
                       "(semantic.passages.vectors)"});
}

// Returns the rule by which the rows are cut, or nullopt if they are not.
std::optional<PassageRule> passages_in_force(const ModelDirectory& directory,
                                             const PassageOptions& options,
                                             const EffectiveResult& result) {
  if (!options.cuts()) return std::nullopt;
  if (result.token_embeddings()) {
    throw Error({.code = "model.pooling",
                 .what = "passages need one vector for each of them",
                 .where = directory.path,
                 .expected = "a pooling, or no passages",
                 .found = "a vector for each token",
                 .hint = "leave the passages (semantic.passages) out, or choose a pooling"});
  }
  const bool late = options.vectors == PassageVectors::kLate;
  if (late) check_late_vectors(directory, result);
  PassageRule rule = {.overlap = options.overlap,
                      .by = options.by.value_or(PassageUnit::kSentence),
                      .vectors = options.vectors};
  const int64_t most = rule.most_tokens(result.max_length);
  rule.max_tokens = options.max_tokens.value_or(most);
  if (rule.max_tokens <= most) return rule;
  throw Error({.code = "model.max_length",
               .what = late ? "a passage may have more tokens than half of a row"
                            : "a passage may have more tokens than a row",
               .where = directory.path,
               .expected = fmt::format("passages.max_tokens of at most {}", most),
               .found = fmt::to_string(rule.max_tokens),
               .hint = "leave --passage-tokens (semantic.passages.max_tokens) out to use the limit "
                       "of the model"});
}

bool ends_normalized(const std::vector<SentenceModule>& modules) {
  return modules.back().kind == SentenceModule::Kind::kNormalize;
}

void append(std::vector<SentenceModule>& modules, SentenceModule::Kind kind, int64_t width = 0) {
  SentenceModule module;
  module.kind = kind;
  module.out_features = width;
  modules.push_back(std::move(module));
}

// Adds a kTruncate if result.truncate_dim is set and differs from `dim`, which is the width before
// the cut.
void truncate(EffectiveResult& result, int64_t dim, const std::string& where) {
  if (!result.truncate_dim || *result.truncate_dim == dim) return;
  if (*result.truncate_dim < 1 || *result.truncate_dim > dim) {
    throw Error({.code = "model.truncate_dim",
                 .what = "truncate_dim is wider than the embedding",
                 .where = where,
                 .expected = fmt::format("1 to {}, the width of the embedding", dim),
                 .found = fmt::to_string(*result.truncate_dim),
                 .hint = "leave --truncate-dim (semantic.truncate_dim) out to keep all columns"});
  }
  append(result.modules, SentenceModule::Kind::kTruncate, *result.truncate_dim);
}

}  // namespace

std::string_view EffectiveResult::sequence_name() const {
  if (!passages) return "row";
  return passages->late() ? "window" : "passage";
}

bool EffectiveResult::is_cut() const {
  return std::any_of(modules.begin(), modules.end(), [](const SentenceModule& module) {
    return module.kind == SentenceModule::Kind::kTruncate;
  });
}

std::vector<std::string> length_warnings(const ModelDirectory& directory,
                                         const ResultOptions& options) {
  if (options.max_length || directory.max_seq_length) return {};
  return {fmt::format(
      "{} does not state a maximum length: encode cuts texts at {} tokens; give --max-length N "
      "for another limit",
      directory.path, format_count(kDefaultMaxLength))};
}

TokenizerRules tokenizer_rules(const ModelDirectory& directory, const ResultOptions& options) {
  return {.special_tokens = options.special_tokens,
          .recipe = directory.tokenizer_recipe,
          .lower_case_first = directory.lower_case_first};
}

CustomCodePolicy custom_code_policy(bool ignore_custom_code) {
  return ignore_custom_code ? CustomCodePolicy::kIgnore : CustomCodePolicy::kRefuse;
}

EffectiveResult effective_result(const ModelDirectory& directory, const ResultOptions& options) {
  EffectiveResult result;
  result.modules = directory.modules;
  SentenceModule& pooling = result.modules.front();
  if (options.pooling) pooling.pooling = {*options.pooling};
  result.pooling = pooling.pooling;
  result.include_prompt = pooling.include_prompt;
  result.truncate_dim = options.truncate_dim ? options.truncate_dim : directory.truncate_dim;
  result.late_interaction = directory.late_interaction;
  if (directory.late_interaction) require_token_vectors_of_documents(directory, options);
  if (result.token_embeddings()) {
    if (!directory.late_interaction) result.modules.resize(1);
    result.include_prompt = true;
    result.truncate_dim = options.truncate_dim;
  }
  if (options.normalize == false) {
    while (ends_normalized(result.modules)) result.modules.pop_back();
  }
  truncate(result, output_dim(result.modules, directory.hidden_size, directory.path),
           directory.path);
  if (options.normalize == true && !ends_normalized(result.modules))
    append(result.modules, SentenceModule::Kind::kNormalize);
  result.normalize = ends_normalized(result.modules);
  result.max_length = max_length_in_force(directory, options);
  result.prompt = prompt_in_force(directory, options);
  result.dtype = options.dtype;
  // Only float32 matrix products have an option for the precision.
  if (result.dtype == ComputeType::kFloat32)
    result.float32_matmul_precision = options.float32_matmul_precision;
  result.causal = options.causal ? options.causal : directory.recipe_causal;
  result.vector_precision = options.vector_precision;
  result.tokenizer = tokenizer_rules(directory, options);
  result.ignore_custom_code = options.ignore_custom_code;
  for (const AppliedRecipe& recipe : directory.recipes) result.recipes.push_back(recipe.name);
  result.launch_tokens = launch_tokens(directory.hidden_size);
  result.dim = output_dim(result.modules, directory.hidden_size, directory.path);
  result.passages = passages_in_force(directory, options.passages, result);
  if (result.passages) result.row_vector = options.passages.row_vector;
  return result;
}

}  // namespace encode
