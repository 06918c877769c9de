// Tests that a shape has the numbers of weights that the model really has.
#include "run_plan/memory/model_shape.h"

#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "run_plan/memory/shapes.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(ModelShape, CountsTheWeightsOfBert) {
  const ModelShape shape = shape_of_config(kBertBase, "config.json");
  EXPECT_EQ(shape.matrix_elements(), 12 * (4 * 768 * 768 + 2 * 768 * 3072));
  EXPECT_EQ(shape.table_elements(), (30522 + 512 + 2) * 768);
  EXPECT_FALSE(shape.gated);
  EXPECT_FALSE(shape.rotary());
}

TEST(ModelShape, CountsGroupedQueriesAndGatedLayers) {
  const ModelShape shape = shape_of_config(kQwen2, "config.json");
  EXPECT_EQ(shape.matrix_elements(),
            28 * (1536 * (1536 + 2 * 256) + 1536 * 1536 + 3 * 1536 * 8960));
  EXPECT_TRUE(shape.gated);
  EXPECT_TRUE(shape.causal);
  EXPECT_TRUE(shape.rotary());
  EXPECT_EQ(shape.position_rows(), 0);
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

// A token passes few of the experts, so it computes less than it would with all weights.
TEST(ModelShape, ComputesOnlyTheExpertsOfAToken) {
  ModelShape shape = shape_of(open_model_directory(test_data("models/qwen3_moe")));
  const double few = shape.flops_per_token(10);
  for (WeightShape& matrix : shape.extra_matrices) matrix.used = 0;
  // A layer has four experts, of which a token uses two, each with three products of 24 x 32.
  EXPECT_EQ(shape.flops_per_token(10) - few, 2.0 * 2 * 3 * 24 * 32);
}

TEST(ModelShape, DebertaIsRelativeIfItsConfigSaysSo) {
  const auto shape = [](const char* name) {
    return shape_of(open_model_directory(test_data(std::string("models/") + name)));
  };
  EXPECT_TRUE(shape("deberta").relative());
  EXPECT_FALSE(shape("deberta_absolute").relative());
}

TEST(ModelShape, AConfigOfNoArchitectureIsRefused) {
  EXPECT_THROW(shape_of_config("{}", "config.json"), Error);
  const ErrorDetail error = error_of(
      [] { shape_of_config(R"({"model_type":"whisper","hidden_size":8})", "m/config.json"); });
  EXPECT_EQ(error.code.name(), "model.type");
  EXPECT_EQ(error.where, "m/config.json: model_type");
  const ErrorDetail typo =
      error_of([] { shape_of_config(R"({"model_type":"brt","hidden_size":8})", "config.json"); });
  EXPECT_TRUE(typo.hint.starts_with("did you mean 'bert'? ")) << typo.hint;
}

}  // namespace
}  // namespace encode::testing
