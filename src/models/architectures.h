// The loader of each architecture, grouped by the file that defines it. The loaders share a header
// because registry.cc chooses one of them. model_dir/architecture_table.h describes the same
// architectures without LibTorch. Each loader throws what load_model() throws, and may be called by
// one thread at a time.
#pragma once

#include <memory>

#include "models/model.h"

namespace encode {

// bert.cc
std::unique_ptr<Model> load_albert(const ModelSource& source);
std::unique_ptr<Model> load_bert(const ModelSource& source);
std::unique_ptr<Model> load_distilbert(const ModelSource& source);
std::unique_ptr<Model> load_electra(const ModelSource& source);
std::unique_ptr<Model> load_ernie(const ModelSource& source);
std::unique_ptr<Model> load_longformer(const ModelSource& source);
std::unique_ptr<Model> load_mpnet(const ModelSource& source);
std::unique_ptr<Model> load_rembert(const ModelSource& source);
std::unique_ptr<Model> load_roberta(const ModelSource& source);

// llama.cc
std::unique_ptr<Model> load_eurobert(const ModelSource& source);
std::unique_ptr<Model> load_llama(const ModelSource& source);
std::unique_ptr<Model> load_ministral(const ModelSource& source);
std::unique_ptr<Model> load_ministral3(const ModelSource& source);
std::unique_ptr<Model> load_mistral(const ModelSource& source);
std::unique_ptr<Model> load_qwen2(const ModelSource& source);
std::unique_ptr<Model> load_qwen3(const ModelSource& source);

// gemma.cc
std::unique_ptr<Model> load_gemma(const ModelSource& source);
std::unique_ptr<Model> load_gemma2(const ModelSource& source);
std::unique_ptr<Model> load_gemma3(const ModelSource& source);

// gpt2.cc
std::unique_ptr<Model> load_bloom(const ModelSource& source);
std::unique_ptr<Model> load_gpt2(const ModelSource& source);
std::unique_ptr<Model> load_gpt_neo(const ModelSource& source);

// gpt_neox.cc
std::unique_ptr<Model> load_gpt_neox(const ModelSource& source);
std::unique_ptr<Model> load_gptj(const ModelSource& source);
std::unique_ptr<Model> load_phi(const ModelSource& source);

// nomic_bert.cc
std::unique_ptr<Model> load_jina_embeddings_v3(const ModelSource& source);
std::unique_ptr<Model> load_nomic_bert(const ModelSource& source);

// olmo.cc
std::unique_ptr<Model> load_olmo(const ModelSource& source);
std::unique_ptr<Model> load_olmo2(const ModelSource& source);

// t5.cc
std::unique_ptr<Model> load_t5(const ModelSource& source);
std::unique_ptr<Model> load_umt5(const ModelSource& source);

// deberta_v2.cc
std::unique_ptr<Model> load_deberta(const ModelSource& source);
std::unique_ptr<Model> load_deberta_v2(const ModelSource& source);

// Each of these functions is in a file with the name of the architecture: load_gte_new() is in
// gte_new.cc.
std::unique_ptr<Model> load_codesage(const ModelSource& source);
std::unique_ptr<Model> load_esm(const ModelSource& source);
std::unique_ptr<Model> load_gte_new(const ModelSource& source);
std::unique_ptr<Model> load_jina_bert(const ModelSource& source);  // load_bert() calls it
std::unique_ptr<Model> load_lfm2(const ModelSource& source);
std::unique_ptr<Model> load_modernbert(const ModelSource& source);
std::unique_ptr<Model> load_nv_embed(const ModelSource& source);
std::unique_ptr<Model> load_qwen3_moe(const ModelSource& source);
std::unique_ptr<Model> load_static_embedding(const ModelSource& source);
std::unique_ptr<Model> load_xlm_roberta_xl(const ModelSource& source);

}  // namespace encode
