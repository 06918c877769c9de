// Compares the hidden states of tiny random models with the hidden states of Hugging Face
// transformers. tests/data/README.md names the script that makes the models.
#include <algorithm>

#include <ATen/ops/abs.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cosine_similarity.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <gtest/gtest.h>

#include "loaded_model.h"
#include "models/model.h"
#include "npy_tensor.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::all_rows;
using testing::load_npy;
using testing::LoadedModel;
using testing::pack_sequences;
using testing::test_data;

std::string reference(const std::string& name) { return test_data("models/" + name); }

// Returns the hidden states of Hugging Face transformers for one sequence of the batch.
at::Tensor expected_rows(const std::string& name, const PackedBatch& batch, size_t sequence) {
  const at::Tensor states = load_npy(test_data("models/" + name + "/last_hidden_state.npy"));
  return states[batch.sequence_numbers[sequence]].narrow(
      0, 0, batch.cu_seqlens[sequence + 1] - batch.cu_seqlens[sequence]);
}

at::Tensor sequence_rows(const at::Tensor& packed, const PackedBatch& batch, size_t sequence) {
  return packed.narrow(0, batch.cu_seqlens[sequence],
                       batch.cu_seqlens[sequence + 1] - batch.cu_seqlens[sequence]);
}

// The parameter is a folder of tests/data/models.
class HuggingFace : public ::testing::TestWithParam<const char*> {};

TEST_P(HuggingFace, Float32IsWithin1e5) {
  const std::string name = GetParam();
  const PackedBatch batch = pack_sequences(name, all_rows(name));
  const at::Tensor states = LoadedModel(reference(name), at::kFloat).forward(batch);
  for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
    const at::Tensor expected = expected_rows(name, batch, b);
    const double scale = std::max(1.0, at::max(at::abs(expected)).item<double>());
    EXPECT_LE(at::max(at::abs(sequence_rows(states, batch, b).sub(expected))).item<double>(),
              1e-5 * scale)
        << "sequence " << b;
  }
}

TEST_P(HuggingFace, HalfWidthTypesKeepTheDirection) {
  const std::string name = GetParam();
  const PackedBatch batch = pack_sequences(name, all_rows(name));
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor states = LoadedModel(reference(name), type).forward(batch);
    EXPECT_EQ(states.scalar_type(), type);
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const at::Tensor cosine = at::cosine_similarity(
          sequence_rows(states, batch, b).to(at::kFloat), expected_rows(name, batch, b), 1);
      EXPECT_GE(at::min(cosine).item<double>(), 0.999) << type << " sequence " << b;
    }
  }
}

TEST_P(HuggingFace, ARowAloneEqualsTheRowInABatchToTheBit) {
  const std::string name = GetParam();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const LoadedModel model(reference(name), type);
    const PackedBatch batch = pack_sequences(name, all_rows(name));
    const at::Tensor together = model.forward(batch);
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const at::Tensor alone = model.forward(pack_sequences(name, {batch.sequence_numbers[b]}));
      EXPECT_TRUE(at::equal(alone, sequence_rows(together, batch, b))) << type << " sequence " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, HuggingFace,
    ::testing::Values("bert", "roberta", "camembert", "xlm_roberta", "xlm_roberta_xl", "mpnet",
                      "distilbert", "albert", "electra", "ernie", "rembert", "longformer", "esm",
                      "esm_learned_positions", "deberta", "deberta_absolute", "deberta_v2",
                      "deberta_v2_own_projections", "nomic_bert", "modernbert", "eurobert",
                      "jina_embeddings_v3", "t5", "t5_gated", "mt5", "umt5", "llama",
                      "llama_bidirectional", "llama_rope_llama3", "llama_rope_linear",
                      "llama_rope_dynamic", "llama_rope_yarn", "mistral", "mistral_window", "qwen2",
                      "qwen2_bidirectional", "gte_qwen2", "qwen2_window", "qwen3", "gemma",
                      "gemma2", "gemma3", "embedding_gemma", "gte_new", "gte", "jina_bert",
                      "jina_bert_code", "nomic_bert_moe", "codesage", "llama_bidirec", "gpt2",
                      "gpt_neo", "gpt_neox", "gptj", "phi", "bloom", "lfm2", "ministral",
                      "ministral3", "qwen3_moe", "olmo", "olmo2", "nv_embed"),
    [](const auto& param) { return std::string(param.param); });

// This is the control of the tests above: two models with the same weights that differ in one
// setting give different hidden states.
TEST(HuggingFaceControl, EverySettingTells) {
  for (const auto& [one, other] :
       {std::pair{"qwen2", "qwen2_bidirectional"}, std::pair{"mistral", "mistral_window"},
        std::pair{"llama_rope_linear", "llama_rope_yarn"},
        std::pair{"gemma3", "embedding_gemma"}}) {
    const PackedBatch batch = pack_sequences(one, all_rows(one));
    const at::Tensor a = LoadedModel(reference(one), at::kFloat).forward(batch);
    const at::Tensor b = LoadedModel(reference(other), at::kFloat).forward(batch);
    EXPECT_FALSE(at::allclose(a, b, 1e-2, 1e-2)) << one << " and " << other;
  }
}

// Weights that are stored in 16 bits give the hidden states that Hugging Face transformers computes
// from the same weights. Weights in several files give the same bits as weights in one file.
TEST(Checkpoint, StoredTypeAndShardsGiveTheirOwnReference) {
  for (const char* name : {"bert_float16", "bert_bfloat16"}) {
    const PackedBatch batch = pack_sequences(name, all_rows(name));
    const at::Tensor states = LoadedModel(reference(name), at::kFloat).forward(batch);
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      EXPECT_LE(at::max(at::abs(sequence_rows(states, batch, b).sub(expected_rows(name, batch, b))))
                    .item<double>(),
                1e-5)
          << name;
    }
  }
  const PackedBatch batch = pack_sequences("bert_float16", all_rows("bert_float16"));
  EXPECT_TRUE(at::equal(LoadedModel(reference("bert_float16_sharded"), at::kFloat).forward(batch),
                        LoadedModel(reference("bert_float16"), at::kFloat).forward(batch)));
}

}  // namespace
}  // namespace encode
