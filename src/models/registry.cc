#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "model_dir/supported_architectures.h"
#include "models/architectures.h"

namespace encode {
namespace {

using Loader = std::unique_ptr<Model> (*)(const ModelSource&);

// Maps model_type of config.json to the loader of the architecture. The entries have the order of
// model_dir/supported_architectures.cc.
constexpr auto kLoaders = std::to_array<std::pair<std::string_view, Loader>>({
    {"albert", load_albert},
    {"bert", load_bert},
    {"bloom", load_bloom},
    {"camembert", load_roberta},
    {"codesage", load_codesage},
    {"deberta", load_deberta},
    {"deberta-v2", load_deberta_v2},
    {"distilbert", load_distilbert},
    {"electra", load_electra},
    {"ernie", load_ernie},
    {"esm", load_esm},
    {"eurobert", load_eurobert},
    {"gemma", load_gemma},
    {"gemma2", load_gemma2},
    {"gemma3_text", load_gemma3},
    {"gpt2", load_gpt2},
    {"gpt_neo", load_gpt_neo},
    {"gpt_neox", load_gpt_neox},
    {"gptj", load_gptj},
    {"gte", load_gte_new},
    {"jina_embeddings_v3", load_jina_embeddings_v3},
    {"lfm2", load_lfm2},
    {"llama", load_llama},
    {"llama_bidirec", load_bidirectional_llama},
    {"longformer", load_longformer},
    {"ministral", load_ministral},
    {"ministral3", load_ministral3},
    {"mistral", load_mistral},
    {"modernbert", load_modernbert},
    {"mpnet", load_mpnet},
    {"mt5", load_t5},
    {"new", load_gte_new},
    {"nomic_bert", load_nomic_bert},
    {"nvembed", load_nv_embed},
    {"olmo", load_olmo},
    {"olmo2", load_olmo2},
    {"phi", load_phi},
    {"qwen2", load_qwen2},
    {"qwen3", load_qwen3},
    {"qwen3_moe", load_qwen3_moe},
    {"rembert", load_rembert},
    {"roberta", load_roberta},
    {"static_embedding", load_static_embedding},
    {"t5", load_t5},
    {"umt5", load_umt5},
    {"xlm-roberta", load_roberta},
    {"xlm-roberta-xl", load_xlm_roberta_xl},
});

}  // namespace

std::vector<std::string> supported_model_types() {
  std::vector<std::string> types;
  types.reserve(kLoaders.size());
  for (const auto& [name, loader] : kLoaders) types.emplace_back(name);
  return types;
}

std::unique_ptr<Model> load_model(const std::string& model_type, const ModelSource& source) {
  const auto* const found = std::find_if(kLoaders.begin(), kLoaders.end(), [&](const auto& entry) {
    return entry.first == model_type;
  });
  if (found != kLoaders.end()) return found->second(source);
  throw unsupported_architecture(model_type);
}

}  // namespace encode
