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
                           "bloom",
                           "camembert",
                           "codesage",
                           "distilbert",
                           "electra",
                           "ernie",
                           "esm",
                           "eurobert",
                           "gemma",
                           "gemma2",
                           "gemma3",
                           "gpt2",
                           "gpt_neo",
                           "gpt_neox",
                           "gptj",
                           "gte",
                           "gte_new",
                           "jina_bert",
                           "llama",
                           "longformer",
                           "ministral",
                           "ministral3",
                           "mistral",
                           "modernbert",
                           "mpnet",
                           "mt5",
                           "nomic_bert",
                           "olmo",
                           "olmo2",
                           "phi",
                           "qwen2",
                           "qwen3",
                           "rembert",
                           "roberta",
                           "t5",
                           "t5_gated",
                           "umt5",
                           "xlm_roberta",
                           "xlm_roberta_xl",
                           "esm_learned_positions",
                           "jina_bert_code",
                           "llama_bidirec"}) {
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

// A checkpoint is as large as the plain one if its names have a prefix, or if a second name shares
// the bytes of a table.
TEST(ModelShape, CountsNoTensorTwice) {
  for (const char* name : {"bert", "t5", "llama"}) {
    const ModelDirectory plain = open_model_directory(test_data(std::string("models/") + name));
    ModelDirectory found = plain;
    found.tensors.clear();
    for (const auto& [tensor, info] : plain.tensors) {
      found.tensors["module." + tensor] = info;
      if (info.shape.size() == 2) found.tensors["module.shared." + tensor] = info;
    }
    const ModelShape shape = shape_of(found);
    EXPECT_EQ(shape.matrix_elements(), shape_of(plain).matrix_elements()) << name;
    EXPECT_EQ(shape.table_elements(), shape_of(plain).table_elements()) << name;
  }
}

TEST(ModelShape, KnowsTheWidestTensorAndTransposedOnes) {
  ModelDirectory directory = open_model_directory(test_data("models/bert"));
  EXPECT_FALSE(shape_of(directory).checkpoint_reordered);
  TensorInfo& words = directory.tensors.at("embeddings.word_embeddings.weight");
  words.dtype = "F64";
  words.size_bytes *= 2;
  words.strides = {1, words.shape[0]};
  EXPECT_EQ(shape_of(directory).checkpoint_element_bytes, 8);
  EXPECT_TRUE(shape_of(directory).checkpoint_reordered);
}

TEST(ModelShape, EveryReferenceModelHasOne) {
  for (const char* name : {"deberta", "deberta_v2", "nomic_bert_moe", "embedding_gemma",
                           "jina_embeddings_v3", "lfm2", "qwen3_moe", "nv_embed"}) {
    const ModelShape shape =
        shape_of(open_model_directory(test_data(std::string("models/") + name)));
    EXPECT_GT(shape.matrix_elements(), 0) << name;
    EXPECT_GT(shape.flops_per_token(10), 0) << name;
  }
}

TEST(ModelShape, DebertaIsRelativeIfItsConfigSaysSo) {
  const auto shape = [](const char* name) {
    return shape_of(open_model_directory(test_data(std::string("models/") + name)));
  };
  EXPECT_TRUE(shape("deberta").relative);
  EXPECT_FALSE(shape("deberta_absolute").relative);
}

TEST(ModelShape, AConfigWithoutAModelTypeIsRefused) {
  EXPECT_THROW(shape_of_config("{}", "config.json"), Error);
}

}  // namespace
}  // namespace encode::testing
