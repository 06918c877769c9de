// Our hidden states against Hugging Face transformers' on tiny random models (tests/data/README.md
// names the maker).
#include <algorithm>

#include <ATen/ops/abs.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cosine_similarity.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "encode/model_directory.h"

#include "models/model.h"
#include "nn/linear.h"
#include "npy_tensor.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::load_npy;
using testing::test_data;

struct Reference {
  std::string model;  // folder of the weights under tests/data/models
  std::string
      expected;  // folder of the reference output: float32 also for weights stored in 16 bits
};

class LoadedModel {
 public:
  LoadedModel(const std::string& name, at::ScalarType dtype)
      : directory_(open_model_directory(test_data("models/" + name))),
        config_(parse_json(directory_.config_json, {}, "config.json", "model.config")),
        fields_(config_, "config.json", "model.config"),
        weights_(directory_.tensors, dtype, directory_.path),
        model_(load_model(directory_.model_type, {.config = fields_,
                                                  .weights = weights_,
                                                  .device = at::kCPU,
                                                  .max_positions = 64,
                                                  .causal = std::nullopt})) {}

  at::Tensor forward(const PackedBatch& batch) const {
    const c10::InferenceMode inference;
    return model_->forward(to_device(batch, kCpuBlockTokens, at::kCPU))
        .narrow(0, 0, batch.tokens());
  }

 private:
  ModelDirectory directory_;
  Json config_;
  JsonFields fields_;
  Weights weights_;
  std::unique_ptr<Model> model_;
};

// The listed sequences of the reference, packed.
PackedBatch pack_sequences(const std::string& name, const std::vector<int64_t>& which) {
  const at::Tensor ids = load_npy(test_data("models/" + name + "/input_ids.npy"));
  const at::Tensor lengths = load_npy(test_data("models/" + name + "/lengths.npy"));
  PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (const int64_t row : which) {
    const int32_t length = lengths[row].item<int32_t>();
    for (int32_t t = 0; t < length; ++t) {
      batch.input_ids.push_back(ids[row][t].item<int32_t>());
      batch.position_ids.push_back(t);
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    batch.rows.push_back(row);
    batch.max_seqlen = std::max(batch.max_seqlen, length);
  }
  return batch;
}

std::vector<int64_t> all_rows(const std::string& name) {
  const int64_t count = load_npy(test_data("models/" + name + "/lengths.npy")).size(0);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < count; ++row) rows.push_back(row);
  return rows;
}

// The reference's rows of the same sequences, packed alike.
at::Tensor expected_rows(const std::string& name, const PackedBatch& batch, size_t sequence) {
  const at::Tensor states = load_npy(test_data("models/" + name + "/last_hidden_state.npy"));
  return states[batch.rows[sequence]].narrow(
      0, 0, batch.cu_seqlens[sequence + 1] - batch.cu_seqlens[sequence]);
}

at::Tensor sequence_rows(const at::Tensor& packed, const PackedBatch& batch, size_t sequence) {
  return packed.narrow(0, batch.cu_seqlens[sequence],
                       batch.cu_seqlens[sequence + 1] - batch.cu_seqlens[sequence]);
}

class HuggingFace : public ::testing::TestWithParam<Reference> {};

TEST_P(HuggingFace, Float32IsWithin1e5) {
  const Reference& reference = GetParam();
  const PackedBatch batch = pack_sequences(reference.expected, all_rows(reference.expected));
  const at::Tensor states = LoadedModel(reference.model, at::kFloat).forward(batch);
  for (size_t b = 0; b < batch.rows.size(); ++b) {
    const at::Tensor expected = expected_rows(reference.expected, batch, b);
    const double scale = std::max(1.0, at::max(at::abs(expected)).item<double>());
    EXPECT_LE(at::max(at::abs(sequence_rows(states, batch, b).sub(expected))).item<double>(),
              1e-5 * scale)
        << "sequence " << b;
  }
}

TEST_P(HuggingFace, HalfWidthTypesKeepTheDirection) {
  const Reference& reference = GetParam();
  const PackedBatch batch = pack_sequences(reference.expected, all_rows(reference.expected));
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor states = LoadedModel(reference.model, type).forward(batch);
    EXPECT_EQ(states.scalar_type(), type);
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const at::Tensor cosine =
          at::cosine_similarity(sequence_rows(states, batch, b).to(at::kFloat),
                                expected_rows(reference.expected, batch, b), 1);
      EXPECT_GE(at::min(cosine).item<double>(), 0.999) << type << " sequence " << b;
    }
  }
}

TEST_P(HuggingFace, ARowAloneEqualsTheRowInABatchToTheBit) {
  const Reference& reference = GetParam();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const LoadedModel model(reference.model, type);
    const PackedBatch batch = pack_sequences(reference.expected, all_rows(reference.expected));
    const at::Tensor together = model.forward(batch);
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const at::Tensor alone = model.forward(pack_sequences(reference.expected, {batch.rows[b]}));
      EXPECT_TRUE(at::equal(alone, sequence_rows(together, batch, b))) << type << " sequence " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, HuggingFace,
                         ::testing::Values(Reference{"bert", "bert"}, Reference{"qwen2", "qwen2"},
                                           Reference{"qwen2_bidirectional", "qwen2_bidirectional"}),
                         [](const auto& param) { return param.param.model; });

// The control of the tests above: the two masks of the same architecture give different numbers.
TEST(HuggingFaceControl, CausalAndBidirectionalDiffer) {
  const PackedBatch batch = pack_sequences("qwen2", all_rows("qwen2"));
  const LoadedModel causal("qwen2", at::kFloat);
  const LoadedModel bidirectional("qwen2_bidirectional", at::kFloat);
  EXPECT_FALSE(at::allclose(causal.forward(batch), bidirectional.forward(batch), 1e-2, 1e-2));
}

// Weights stored in 16 bits or in several files are the same weights.
TEST(Checkpoint, StoredTypeAndShardsGiveTheirOwnReference) {
  for (const char* name : {"bert_float16", "bert_bfloat16"}) {
    const PackedBatch batch = pack_sequences(name, all_rows(name));
    const at::Tensor states = LoadedModel(name, at::kFloat).forward(batch);
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      EXPECT_LE(at::max(at::abs(sequence_rows(states, batch, b).sub(expected_rows(name, batch, b))))
                    .item<double>(),
                1e-5)
          << name;
    }
  }
  const PackedBatch batch = pack_sequences("bert_float16", all_rows("bert_float16"));
  EXPECT_TRUE(at::equal(LoadedModel("bert_float16_sharded", at::kFloat).forward(batch),
                        LoadedModel("bert_float16", at::kFloat).forward(batch)));
}

}  // namespace
}  // namespace encode
