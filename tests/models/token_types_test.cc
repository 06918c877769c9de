// Tests that the embedding of a token's type is added to the token.
#include <algorithm>

#include <ATen/ops/abs.h>
#include <ATen/ops/max.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "loaded_model.h"
#include "npy_tensor.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// All sequences of a model, with the types 0, 1, 0, 1, .. in each of them.
PackedBatch typed_sequences(const std::string& model) {
  PackedBatch batch = pack_sequences(model, all_rows(model));
  for (const int32_t position : batch.position_ids) batch.type_ids.push_back(position % 2);
  return batch;
}

// scripts/reference/make_models.py makes typed_hidden_state.npy with transformers.
TEST(TokenTypes, GiveTheHiddenStatesOfTransformers) {
  const std::string folder = test_data("models/ernie");
  const PackedBatch batch = typed_sequences("ernie");
  const at::Tensor states = LoadedModel(folder, at::kFloat).forward(batch);
  const at::Tensor expected = load_npy(folder + "/typed_hidden_state.npy");
  const double scale = std::max(1.0, at::max(at::abs(expected)).item<double>());
  for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
    const int64_t begin = batch.cu_seqlens[b];
    const int64_t length = batch.cu_seqlens[b + 1] - begin;
    const at::Tensor difference =
        states.narrow(0, begin, length)
            .sub(expected[batch.sequence_numbers[b]].narrow(0, 0, length));
    EXPECT_LE(at::max(at::abs(difference)).item<double>(), 1e-5 * scale) << "sequence " << b;
  }
}

TEST(TokenTypes, ATypeThatTheModelDoesNotHaveIsRefused) {
  PackedBatch batch = typed_sequences("ernie");
  batch.type_ids.back() = 2;
  const LoadedModel model(test_data("models/ernie"), at::kFloat);
  const ErrorDetail error = error_of([&] { model.forward(batch); });
  EXPECT_EQ(error.code.name(), "model.config");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.where, test_data("models/ernie") + "/config.json: type_vocab_size");
}

// DistilBERT has no types. sentence-transformers does not pass types to such a model.
TEST(TokenTypes, AModelWithoutTypesIgnoresThem) {
  const LoadedModel model(test_data("models/distilbert"), at::kFloat);
  const PackedBatch plain = pack_sequences("distilbert", all_rows("distilbert"));
  EXPECT_EQ(at::max(at::abs(model.forward(typed_sequences("distilbert")).sub(model.forward(plain))))
                .item<double>(),
            0);
}

}  // namespace
}  // namespace encode::testing
