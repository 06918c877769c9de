// Tests that a shape has the numbers of weights that the model really has.
#include "memory/model_shape.h"

#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "memory/shapes.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(ModelShape, CountsTheWeightsOfBert) {
  const ModelShape shape = shape_of_config(kBertBase, "config.json");
  EXPECT_EQ(shape.matrix_elements(), 12 * (4 * 768 * 768 + 2 * 768 * 3072));
  EXPECT_EQ(shape.table_elements(), (30522 + 512 + 2) * 768);
  EXPECT_FALSE(shape.gated);
  EXPECT_FALSE(shape.rotary);
}

TEST(ModelShape, CountsGroupedQueriesAndGatedLayers) {
  const ModelShape shape = shape_of_config(kQwen2, "config.json");
  EXPECT_EQ(shape.matrix_elements(),
            28 * (1536 * (1536 + 2 * 256) + 1536 * 1536 + 3 * 1536 * 8960));
  EXPECT_TRUE(shape.gated);
  EXPECT_TRUE(shape.causal);
  EXPECT_TRUE(shape.rotary);
  EXPECT_EQ(shape.positions, 0);
}

// The layers that config.json describes have the weights of the checkpoint. DeBERTa and experts
// have more matrices than a usual layer; for them the checkpoint decides.
TEST(ModelShape, ConfigAndCheckpointAgree) {
  for (const char* name : {"albert",
                           "bert",
                           "codesage",
                           "ernie",
                           "esm",
                           "esm_learned_positions",
                           "gte",
                           "jina_bert_code",
                           "longformer",
                           "rembert",
                           "camembert",
                           "distilbert",
                           "electra",
                           "eurobert",
                           "gemma",
                           "gemma2",
                           "gemma3",
                           "gte_new",
                           "jina_bert",
                           "llama",
                           "mistral",
                           "modernbert",
                           "mpnet",
                           "mt5",
                           "nomic_bert",
                           "qwen2",
                           "qwen3",
                           "roberta",
                           "t5",
                           "t5_gated",
                           "umt5",
                           "xlm_roberta",
                           "xlm_roberta_xl"}) {
    const ModelShape shape =
        shape_of(open_model_directory(test_data(std::string("models/") + name)));
    ModelShape described = shape;
    described.checkpoint_matrix_elements = 0;
    described.checkpoint_table_elements = 0;
    EXPECT_EQ(described.matrix_elements(), shape.matrix_elements()) << name;
    EXPECT_NEAR(static_cast<double>(described.table_elements()),
                static_cast<double>(shape.table_elements()),
                0.05 * static_cast<double>(shape.table_elements()))
        << name;
  }
}

TEST(ModelShape, EveryReferenceModelHasOne) {
  for (const char* name :
       {"deberta", "deberta_v2", "nomic_bert_moe", "embedding_gemma", "jina_embeddings_v3"}) {
    const ModelShape shape =
        shape_of(open_model_directory(test_data(std::string("models/") + name)));
    EXPECT_GT(shape.matrix_elements(), 0) << name;
    EXPECT_GT(shape.flops_per_token(10), 0) << name;
  }
}

TEST(ModelShape, AConfigWithoutAModelTypeIsRefused) {
  EXPECT_THROW(shape_of_config("{}", "config.json"), Error);
}

}  // namespace
}  // namespace encode::testing
