#include "model_dir/supported_architectures.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <vector>

#include "encode/model_directory.h"

#include "base/units.h"
#include "model_dir/model_refusal.h"

namespace encode {
namespace {

constexpr auto kArchitectures = std::to_array<Architecture>({
    {"albert", Positions::kTable, "post-norm, layers shared", "Lan et al. 2020",
     "paraphrase-albert-small-v2"},
    {"bert", Positions::kTable, "post-norm; with ALiBi and GeGLU if config.json says so",
     "Devlin et al. 2019",
     "all-MiniLM-L6-v2, bge-base-en-v1.5, e5-base-v2, jina-embeddings-v2-base-en, "
     "jina-embeddings-v2-base-code"},
    {"bloom", Positions::kUnbounded, "pre-norm, ALiBi, causal", "Le Scao et al. 2022",
     "models on bloom-7b1"},
    {"camembert", Positions::kTableAfterPadding, "post-norm", "Martin et al. 2020",
     "sentence-camembert-base"},
    {"codesage", Positions::kTable, "pre-norm, GPT-2's without causality", "Zhang et al. 2024",
     "models on codesage-small-v2"},
    {"deberta", Positions::kTable, "post-norm, disentangled attention", "He et al. 2021",
     "USER-base"},
    {"deberta-v2", Positions::kTable, "post-norm, disentangled attention", "He et al. 2021",
     "models on deberta-v3-base"},
    {"distilbert", Positions::kTable, "post-norm", "Sanh et al. 2019",
     "multi-qa-distilbert-cos-v1"},
    {"electra", Positions::kTable, "post-norm, narrow embeddings", "Clark et al. 2020",
     "models on electra-base-discriminator"},
    {"ernie", Positions::kTable, "post-norm", "Sun et al. 2021",
     "text2vec-base-chinese-paraphrase, models on ernie-3.0-base-zh"},
    {"esm", Positions::kTableAfterPadding, "pre-norm, rotary or learned positions; proteins",
     "Lin et al. 2023", "esm2_t33_650M_UR50D, esm1b_t33_650M_UR50S"},
    {"eurobert", Positions::kUnbounded, "pre-RMSNorm, rotary, SwiGLU, grouped queries",
     "Boizard et al. 2025", "models on EuroBERT-210m"},
    {"gemma", Positions::kUnbounded, "pre-RMSNorm, rotary, GeGLU, causal", "Gemma Team 2024",
     "models on gemma-2b"},
    {"gemma2", Positions::kUnbounded,
     "RMSNorm on both sides, rotary, GeGLU, windows, soft-capped scores, causal", "Gemma Team 2024",
     "bge-multilingual-gemma2"},
    {"gemma3_text", Positions::kUnbounded,
     "RMSNorm on both sides and on heads, rotary, GeGLU, windows, causal or bidirectional",
     "Gemma Team 2025", "embeddinggemma-300m"},
    {"gpt2", Positions::kTable, "pre-norm, causal", "Radford et al. 2019", "models on gpt2"},
    {"gpt_neo", Positions::kTable, "pre-norm, windows, causal", "Black et al. 2021",
     "models on gpt-neo-125m"},
    {"gpt_neox", Positions::kUnbounded,
     "attention beside the MLP, rotary on a part of a head, causal", "Black et al. 2022",
     "models on pythia-160m"},
    {"gptj", Positions::kUnbounded, "attention beside the MLP, rotary on a part of a head, causal",
     "Wang & Komatsuzaki 2021", "models on gpt-j-6b"},
    {"gte", Positions::kUnbounded, "post-norm, rotary, GeGLU; the newer name of new",
     "Zhang et al. 2024", "snowflake-arctic-embed-m-v2.0"},
    {"jina_embeddings_v3", Positions::kUnbounded, "post-norm, rotary", "Sturua et al. 2024",
     "jina-embeddings-v3-hf"},
    {"lfm2", Positions::kUnbounded,
     "pre-RMSNorm, short convolutions, rotary, SwiGLU, grouped queries, causal", "Liquid AI 2025",
     "models on LFM2-350M"},
    {"llama", Positions::kUnbounded,
     "pre-RMSNorm, rotary, SwiGLU, grouped queries, causal or bidirectional", "Touvron et al. 2023",
     "models on Llama-3.1-8B"},
    {"llama_bidirec", Positions::kUnbounded, "Llama's, bidirectional", "Moreira et al. 2024",
     "models on Llama-3.2-1B"},
    {"longformer", Positions::kTableAfterPadding, "post-norm, windows", "Beltagy et al. 2020",
     "models on longformer-base-4096"},
    {"ministral", Positions::kUnbounded, "Llama's, windows in some layers", "Mistral AI 2024",
     "models on Ministral-8B"},
    {"ministral3", Positions::kUnbounded, "Llama's, queries of long texts scaled",
     "Mistral AI 2025", "models on Ministral-3-3B"},
    {"mistral", Positions::kUnbounded, "Llama's, windows", "Jiang et al. 2023",
     "e5-mistral-7b-instruct, SFR-Embedding-Mistral"},
    {"modernbert", Positions::kUnbounded, "pre-norm, rotary, GeGLU, windows", "Warner et al. 2024",
     "gte-modernbert-base, modernbert-embed-base"},
    {"mpnet", Positions::kTableAfterPadding, "post-norm, relative biases", "Song et al. 2020",
     "all-mpnet-base-v2, multi-qa-mpnet-base-dot-v1"},
    {"mt5", Positions::kUnbounded, "T5's, gated", "Xue et al. 2021", "models on mt5-base"},
    {"new", Positions::kUnbounded, "post-norm, rotary, GeGLU", "Zhang et al. 2024",
     "gte-base-en-v1.5, gte-multilingual-base"},
    {"nomic_bert", Positions::kUnbounded, "post-norm, rotary, SwiGLU or mixture of experts",
     "Nussbaum et al. 2024", "nomic-embed-text-v1.5, nomic-embed-text-v2-moe"},
    {"nvembed", Positions::kUnbounded, "Mistral's, bidirectional, then attention to latent vectors",
     "Lee et al. 2025", "models on Mistral-7B-v0.1"},
    {"olmo", Positions::kUnbounded, "Llama's with norms without weights", "Groeneveld et al. 2024",
     "models on OLMo-1B-hf"},
    {"olmo2", Positions::kUnbounded,
     "RMSNorm after each half and on queries and keys, rotary, SwiGLU, causal", "OLMo Team 2025",
     "models on OLMo-2-0425-1B"},
    {"phi", Positions::kUnbounded, "attention beside the MLP, rotary on a part of a head, causal",
     "Li et al. 2023", "models on phi-2"},
    {"qwen2", Positions::kUnbounded,
     "Llama's with biases on query, key and value, causal or bidirectional", "Yang et al. 2024",
     "gte-Qwen2-1.5B-instruct, Qodo-Embed-1-1.5B"},
    {"qwen3", Positions::kUnbounded, "Llama's with RMSNorm on heads, causal or bidirectional",
     "Yang et al. 2025", "Qwen3-Embedding-0.6B"},
    {"qwen3_moe", Positions::kUnbounded, "Qwen3's with a mixture of experts", "Yang et al. 2025",
     "models on Qwen3-30B-A3B"},
    {"rembert", Positions::kTable, "post-norm, narrow embeddings", "Chung et al. 2021",
     "models on rembert"},
    {"roberta", Positions::kTableAfterPadding, "post-norm", "Liu et al. 2019",
     "all-distilroberta-v1"},
    {kStaticEmbedding, Positions::kUnbounded, "none: the mean of a table's rows",
     "Tulkens & van Dongen 2024", "static-retrieval-mrl-en-v1, potion-base-8M"},
    {"t5", Positions::kUnbounded, "pre-RMSNorm, relative biases, plain or gated",
     "Raffel et al. 2020", "sentence-t5-base, gtr-t5-base"},
    {"umt5", Positions::kUnbounded, "T5's, gated, biases of each layer", "Chung et al. 2023",
     "models on umt5-base"},
    {"xlm-roberta", Positions::kTableAfterPadding, "post-norm", "Conneau et al. 2020",
     "multilingual-e5-large, bge-m3"},
    {"xlm-roberta-xl", Positions::kTableAfterPadding, "pre-norm", "Goyal et al. 2021",
     "models on xlm-roberta-xl"},
});

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view model_type) {
  const auto* const found =
      std::find_if(kArchitectures.begin(), kArchitectures.end(),
                   [&](const Architecture& entry) { return entry.model_type == model_type; });
  return found != kArchitectures.end() ? found : nullptr;
}

Error unsupported_architecture(std::string_view model_type) {
  std::vector<std::string_view> known;
  for (const Architecture& entry : kArchitectures) known.push_back(entry.model_type);
  return refusal(
      {.code = "model.type",
       .what = "encode does not support this architecture",
       .where = "config.json: model_type",
       .expected = fmt::format("one of: {}", fmt::join(known, ", ")),
       .found = fmt::format("'{}'", preview(model_type)),
       .hint = "'encode models' describes them; docs/adding-a-model.md shows how to add one"});
}

}  // namespace encode
