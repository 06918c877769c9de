// Counts what one layer of a model costs on a GPU: the launches, and the bytes that they read and
// write. docs/gpu.md shows these numbers. A change of a number is a change of the speed, so the
// document must explain it.
#include <cstring>
#include <iostream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "batching/pack.h"
#include "counts.h"
#include "load_for_test.h"
#include "random_rows.h"
#include "support/safetensors_writer.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

// One batch that nearly fills one launch.
constexpr int64_t kLaunchTokens = 1024;
constexpr int64_t kRows = 45;

// In T5 the parts of a layer are called "layer.0" and "layer.1".
bool is_of_second_layer(const std::string& tensor) {
  const auto contains = [&tensor](const char* part) {
    return tensor.find(part) != std::string::npos;
  };
  return contains("block.") ? contains("block.1.") : contains("layer.1.") || contains("layers.1.");
}

// Returns the bytes of a safetensors file without the tensors of the second layer.
std::string first_layer_of(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const size_t data = sizeof length + length;
  std::vector<testing::TestTensor> kept;
  const Json header = Json::parse(file.substr(sizeof length, length));
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || is_of_second_layer(name)) continue;
    const auto& ends = tensor["data_offsets"];
    const auto begin = ends[0].get<size_t>();
    kept.push_back({.name = name,
                    .dtype = tensor["dtype"],
                    .shape = tensor["shape"],
                    .bytes = file.substr(data + begin, ends[1].get<size_t>() - begin)});
  }
  return testing::safetensors_bytes(kept);
}

// Writes a model that has only the first layer of a reference model, which has two.
void write_one_layer(const std::string& model, const testing::TempDir& dir) {
  const std::string from = testing::test_data("models/" + model);
  Json config = Json::parse(testing::read_bytes(from + "/config.json"));
  config[config.contains("num_layers") ? "num_layers" : "num_hidden_layers"] = 1;
  if (config.contains("layer_types")) config["layer_types"].erase(1);
  dir.write("config.json", config.dump());
  dir.write("model.safetensors", first_layer_of(testing::read_bytes(from + "/model.safetensors")));
}

// Returns what one batch costs, after a first pass has filled the allocator's cache.
CudaStandInCounts cost_of(const std::string& model, ComputeType dtype) {
  ResultOptions result;
  result.dtype = dtype;
  result.pooling = PoolingMode::kMean;
  testing::TestModel opened = testing::open_test_model(model, result);
  opened.effective.launch_tokens = kLaunchTokens;
  EncoderOptions options;
  options.hardware.device = parse_device("cuda");
  const auto encoder = testing::load_test_encoder(opened, options);
  const std::vector<PackedBatch> batches =
      pack({.ids = testing::random_rows(kRows)}, kLaunchTokens);
  EXPECT_EQ(batches.size(), 1U);
  std::vector<float> out(static_cast<size_t>(kRows * encoder->dim()));
  const auto all = [](const PackedBatch&) { return true; };
  const CudaStandInCounts before = counts();
  EXPECT_TRUE(encoder->encode(batches, out, all));
  return counts() - before;
}

struct Cost {
  const char* model;
  ComputeType dtype;
  int64_t launches;
  int64_t token_bytes;  // of one layer, for one token slot
};

// GoogleTest calls this function to print a parameter.
void PrintTo(const Cost& cost, std::ostream* out) { *out << cost.model; }

class LayerCosts : public ::testing::TestWithParam<Cost> {};

TEST_P(LayerCosts, AreThoseOfTheDocument) {
  const testing::TempDir one_layer;
  write_one_layer(GetParam().model, one_layer);
  const CudaStandInCounts one = cost_of(one_layer.path(), GetParam().dtype);
  const CudaStandInCounts two = cost_of(GetParam().model, GetParam().dtype);
  const CudaStandInCounts layer = two - one;
  std::cout << GetParam().model << ": " << layer.launches << " launches and "
            << layer.bytes / kLaunchTokens << " bytes a token in a layer, " << one.launches
            << " launches in a batch with one layer\n";
  EXPECT_EQ(layer.launches, GetParam().launches);
  EXPECT_EQ(layer.bytes / kLaunchTokens, GetParam().token_bytes);
}

INSTANTIATE_TEST_SUITE_P(Models, LayerCosts,
                         ::testing::Values(Cost{"bert", ComputeType::kBFloat16, 8, 2944},
                                           Cost{"bert", ComputeType::kFp8, 9, 2912},
                                           Cost{"qwen2", ComputeType::kBFloat16, 9, 3456},
                                           Cost{"qwen2", ComputeType::kFp8, 10, 3424},
                                           Cost{"modernbert", ComputeType::kBFloat16, 9, 2016},
                                           Cost{"modernbert", ComputeType::kFloat32, 17, 4297},
                                           Cost{"gemma2", ComputeType::kBFloat16, 11, 2481},
                                           Cost{"mpnet", ComputeType::kBFloat16, 8, 1648},
                                           Cost{"t5_gated", ComputeType::kBFloat16, 15, 3760},
                                           Cost{"deberta_v2", ComputeType::kBFloat16, 12, 2635}),
                         [](const auto& cost) {
                           return std::string(cost.param.model) + "_" +
                                  std::string(to_string(cost.param.dtype));
                         });

}  // namespace
}  // namespace encode
