#include <cstdlib>

#include "model_dir/supported_architectures.h"
#include "models/architectures.h"

namespace encode {
namespace {

using Loader = std::unique_ptr<Model> (*)(const ModelSource&);

// The switch has no default, so an architecture without a loader does not compile. It has a line
// for each architecture.
// clang-format off
Loader loader_of(Architecture architecture) {
  switch (architecture) {
    using enum Architecture;
    case kAlbert: return load_albert;
    case kBert: return load_bert;
    case kBloom: return load_bloom;
    case kCamembert: return load_roberta;
    case kCodeSage: return load_codesage;
    case kDeberta: return load_deberta;
    case kDebertaV2: return load_deberta_v2;
    case kDistilBert: return load_distilbert;
    case kElectra: return load_electra;
    case kErnie: return load_ernie;
    case kEsm: return load_esm;
    case kEuroBert: return load_eurobert;
    case kGemma: return load_gemma;
    case kGemma2: return load_gemma2;
    case kGemma3Text: return load_gemma3;
    case kGpt2: return load_gpt2;
    case kGptNeo: return load_gpt_neo;
    case kGptNeoX: return load_gpt_neox;
    case kGptJ: return load_gptj;
    case kGte: return load_gte_new;
    case kJinaEmbeddingsV3: return load_jina_embeddings_v3;
    case kLfm2: return load_lfm2;
    case kLlama:
    case kLlamaBidirectional: return load_llama;
    case kLongformer: return load_longformer;
    case kMinistral: return load_ministral;
    case kMinistral3: return load_ministral3;
    case kMistral: return load_mistral;
    case kModernBert: return load_modernbert;
    case kMpNet: return load_mpnet;
    case kMt5: return load_t5;
    case kNew: return load_gte_new;
    case kNomicBert: return load_nomic_bert;
    case kNvEmbed: return load_nv_embed;
    case kOlmo: return load_olmo;
    case kOlmo2: return load_olmo2;
    case kPhi: return load_phi;
    case kQwen2: return load_qwen2;
    case kQwen3: return load_qwen3;
    case kQwen3Moe: return load_qwen3_moe;
    case kRemBert: return load_rembert;
    case kRoberta: return load_roberta;
    case kStatic: return load_static_embedding;
    case kT5: return load_t5;
    case kUmt5: return load_umt5;
    case kXlmRoberta: return load_roberta;
    case kXlmRobertaXl: return load_xlm_roberta_xl;
  }
  std::abort();  // there is no other value
}
// clang-format on

}  // namespace

std::unique_ptr<Model> load_model(const std::string& model_type, const ModelSource& source) {
  const ArchitectureEntry* entry = find_architecture(model_type);
  if (entry == nullptr) throw unsupported_architecture(model_type, source.config.where());
  ModelSource sized = source;
  sized.sizes = model_sizes(*entry, source.config);
  sized.sizes.causal = source.causal.value_or(sized.sizes.causal);
  return loader_of(entry->key)(sized);
}

}  // namespace encode
