// Compares what the memory model takes from config.json with the models that are loaded, for every
// architecture.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "loaded_model.h"
#include "model_dir/architecture_table.h"
#include "run_plan/memory/model_shape.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::vector<std::string> tiny_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test_data("models")))
    names.push_back(entry.path().filename());
  return names;
}

// The elements of the tensors that were read, without norms and biases.
int64_t elements_read(const LoadedModel& model) {
  int64_t sum = 0;
  for (const std::string& name : model.weights().taken()) {
    const std::vector<int64_t>& shape = model.directory().tensors.at(name).shape;
    if (shape.size() < 2) continue;
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    sum += elements;
  }
  return sum;
}

int64_t elements_expected(const ModelShape& shape) {
  return shape.matrix_elements() + shape.table_elements() + shape.folded_elements;
}

void expect_sizes_of(const std::string& folder) {
  const LoadedModel model(folder, at::kFloat);
  ModelShape shape = shape_of(model.directory());
  EXPECT_EQ(elements_expected(shape), elements_read(model)) << folder;
  // This is the control: a wrong fact changes the result.
  if (shape.mlp_layers == 0) return;
  shape.gated = !shape.gated;
  EXPECT_NE(elements_expected(shape), elements_read(model)) << folder;
}

TEST(LoadedSizes, AreThoseThatTheMemoryModelExpects) {
  for (const std::string& name : tiny_models()) expect_sizes_of(test_data("models/" + name));
  expect_sizes_of(test_data("sentence_transformers/static_embedding"));
}

TEST(LoadedSizes, EveryArchitectureHasATinyModel) {
  std::set<std::string> missing;
  for (const ArchitectureEntry& entry : kArchitectures) missing.emplace(entry.model_type);
  missing.erase(kStaticEmbedding);  // tests/data/sentence_transformers has it
  for (const std::string& name : tiny_models())
    missing.erase(open_model_directory(test_data("models/" + name)).model_type);
  EXPECT_EQ(missing, std::set<std::string>());
}

// In a causal model no token sees the tokens after it.
TEST(LoadedSizes, AModelIsCausalIfTheMemoryModelSaysSo) {
  for (const std::string& name : tiny_models()) {
    if (!std::filesystem::exists(test_data("models/" + name + "/lengths.npy"))) continue;  // shards
    const LoadedModel model(test_data("models/" + name), at::kFloat);
    PackedBatch batch = pack_sequences(name, {all_rows(name).back()});
    ASSERT_GT(batch.input_ids.size(), 1U) << name;
    const at::Tensor before = model.forward(batch)[0];
    batch.input_ids[1] = batch.input_ids[1] == 7 ? 8 : 7;
    EXPECT_EQ(at::equal(before, model.forward(batch)[0]), shape_of(model.directory()).causal)
        << name;
  }
}

}  // namespace
}  // namespace encode::testing
