// One loader for each architecture; the table in registry.cc names them, model_dir/architectures.cc
// describes them. The reference of each is the implementation of that name in Hugging Face
// transformers, where its file names no other.
#pragma once

#include <memory>

#include "models/model.h"

namespace encode {

std::unique_ptr<Model> load_albert(const ModelSource& source);
std::unique_ptr<Model> load_bert(const ModelSource& source);
std::unique_ptr<Model> load_deberta_v2(const ModelSource& source);
std::unique_ptr<Model> load_distilbert(const ModelSource& source);
std::unique_ptr<Model> load_electra(const ModelSource& source);
std::unique_ptr<Model> load_eurobert(const ModelSource& source);
std::unique_ptr<Model> load_gemma(const ModelSource& source);
std::unique_ptr<Model> load_gemma2(const ModelSource& source);
std::unique_ptr<Model> load_gemma3(const ModelSource& source);
std::unique_ptr<Model> load_gte_new(const ModelSource& source);
std::unique_ptr<Model> load_jina_bert(const ModelSource& source);  // model_type "bert" with ALiBi
std::unique_ptr<Model> load_jina_embeddings_v3(const ModelSource& source);
std::unique_ptr<Model> load_llama(const ModelSource& source);
std::unique_ptr<Model> load_mistral(const ModelSource& source);
std::unique_ptr<Model> load_modernbert(const ModelSource& source);
std::unique_ptr<Model> load_mpnet(const ModelSource& source);
std::unique_ptr<Model> load_nomic_bert(const ModelSource& source);
std::unique_ptr<Model> load_qwen2(const ModelSource& source);
std::unique_ptr<Model> load_qwen3(const ModelSource& source);
std::unique_ptr<Model> load_roberta(const ModelSource& source);
std::unique_ptr<Model> load_static_embedding(const ModelSource& source);
std::unique_ptr<Model> load_t5(const ModelSource& source);
std::unique_ptr<Model> load_umt5(const ModelSource& source);
std::unique_ptr<Model> load_xlm_roberta_xl(const ModelSource& source);

}  // namespace encode
