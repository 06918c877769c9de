// Runs each model twice: the last layer computes either only the rows that pooling reads, or all
// rows. Both must give the same bits.
#include <ATen/ops/equal.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "loaded_model.h"
#include "nn/layers/pooling.h"
#include "nn/products/row_blocks.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

// The parameter is a folder of tests/data/models.
class PooledRows : public ::testing::TestWithParam<const char*> {};

TEST_P(PooledRows, HaveTheSameBitsWithoutTheOthers) {
  const c10::InferenceMode inference;
  const std::string name = GetParam();
  const PackedBatch batch = testing::pack_sequences(name, testing::all_rows(name));
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const testing::LoadedModel loaded(testing::test_data("models/" + name), type);
    for (const PoolingMode mode : {PoolingMode::kCls, PoolingMode::kLastToken}) {
      const PackedInput all = to_device(batch, 2 * kProductBlockRows, at::kCPU);
      PackedInput some = all;
      some.pooled_rows = pooled_rows(all, mode, format_of(type));
      ASSERT_TRUE(some.pooled_rows.defined());
      const at::Tensor few = loaded.model().forward(some);
      EXPECT_EQ(few.size(0), some.pooled_rows.size(0));
      EXPECT_TRUE(
          at::equal(pool(few, some, {mode}), pool(loaded.model().forward(all), all, {mode})))
          << type << " " << to_string(mode);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PooledRows,
                         ::testing::Values("albert", "bert", "deberta_v2", "electra", "gemma2",
                                           "bloom", "gpt_neo", "gpt_neox", "gptj", "gte_new",
                                           "jina_bert", "jina_embeddings_v3", "lfm2",
                                           "llama_bidirectional", "mistral_window", "modernbert",
                                           "nomic_bert", "nomic_bert_moe", "qwen2", "qwen3",
                                           "t5_gated", "umt5", "xlm_roberta", "xlm_roberta_xl"));

TEST(PooledRowsOfShortRows, AreNotTakenApartWhereThatSavesNothing) {
  PackedBatch batch;
  batch.input_ids = {1, 2, 3};
  batch.position_ids = {0, 0, 0};
  batch.cu_seqlens = {0, 1, 2, 3};
  const PackedInput one_token_each =
      to_device(batch, cpu_slots(3, ProductFormat::kFloat32), at::kCPU);
  EXPECT_FALSE(pooled_rows(one_token_each, PoolingMode::kCls, ProductFormat::kFloat32).defined());
}

}  // namespace
}  // namespace encode
