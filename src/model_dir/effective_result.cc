#include <utility>

#include "encode/model_directory.h"

#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/refusal.h"
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
  std::string names;
  for (const auto& [valid, text] : directory.prompts)
    names += (names.empty() ? "" : ", ") + preview(valid);
  throw refusal(
      {.code = "model.prompt_name",
       .what = "the model has no prompt of this name",
       .where = directory.path,
       .expected = names.empty() ? "no prompt_name: this model has no prompts" : "one of: " + names,
       .found = "'" + preview(*name) + "'",
       .hint = "or give the text itself as the prompt"});
}

int64_t max_length_in_force(const ModelDirectory& directory, const ResultOptions& options) {
  if (!options.max_length) return directory.max_seq_length.value_or(0);
  const int64_t most = directory.position_limit > 0 ? directory.position_limit : kMaxPositions;
  if (*options.max_length >= 1 && *options.max_length <= most) return *options.max_length;
  throw refusal(
      {.code = "model.max_length",
       .what = "max_length is not possible with this model",
       .where = directory.path,
       .expected =
           "1 to " + std::to_string(most) +
           (directory.position_limit > 0 ? ", the positions that the model has learned" : ""),
       .found = std::to_string(*options.max_length),
       .hint = "leave max_length out to use the model's own limit"});
}

// Takes the normalization at the end away, or adds one.
void override_normalize(std::vector<SentenceModule>& modules, bool normalize) {
  while (modules.back().kind == SentenceModule::Kind::kNormalize) modules.pop_back();
  if (!normalize) return;
  SentenceModule module;
  module.kind = SentenceModule::Kind::kNormalize;
  modules.push_back(std::move(module));
}

}  // namespace

EffectiveResult effective_result(const ModelDirectory& directory, const ResultOptions& options) {
  EffectiveResult result;
  result.modules = directory.modules;
  SentenceModule& pooling = result.modules.front();
  if (options.pooling) pooling.pooling = {*options.pooling};
  result.pooling = pooling.pooling;
  result.include_prompt = pooling.include_prompt;
  result.normalize =
      options.normalize.value_or(result.modules.back().kind == SentenceModule::Kind::kNormalize);
  override_normalize(result.modules, result.normalize);
  result.max_length = max_length_in_force(directory, options);
  result.prompt = prompt_in_force(directory, options);
  result.dtype = options.dtype;
  result.dim = output_dim(result.modules, directory.hidden_size, directory.path);
  return result;
}

}  // namespace encode
