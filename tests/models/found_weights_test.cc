// Loads checkpoints in the forms in which they are published: with a prefix before every name, in
// other types, pickled, or without the copy of a shared tensor. Each must give the same bits as the
// plain checkpoint.
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loaded_model.h"
#include "support/safetensors_writer.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using testing::all_rows;
using testing::LoadedModel;
using testing::pack_sequences;
using testing::TempDir;
using testing::test_data;
using testing::TestTensor;

std::vector<TestTensor> tensors_of(const std::string& folder) {
  std::vector<TestTensor> tensors;
  for (const auto& [name, info] : open_model_directory(folder).tensors) {
    tensors.push_back(
        {name, info.dtype, info.shape,
         testing::read_bytes(info.file).substr(static_cast<size_t>(info.offset_bytes),
                                               static_cast<size_t>(info.size_bytes))});
  }
  return tensors;
}

// A copy of a tiny model with other weights.
class Copy {
 public:
  Copy(const std::string& model, const std::vector<TestTensor>& tensors)
      : model_(model), path_(dir_.file("model")) {
    fs::copy(test_data("models/" + model), path_);
    testing::write_bytes(path_ + "/model.safetensors", testing::safetensors_bytes(tensors));
  }
  const std::string& path() const { return path_; }
  at::Tensor states(at::ScalarType type) const {
    return LoadedModel(path_, type).forward(pack_sequences(model_, all_rows(model_)));
  }

 private:
  TempDir dir_;
  std::string model_;
  std::string path_;
};

at::Tensor plain_states(const std::string& model, at::ScalarType type) {
  return LoadedModel(test_data("models/" + model), type)
      .forward(pack_sequences(model, all_rows(model)));
}

std::string with_prefix(const std::string& model, const std::string& prefix) {
  const std::string folder = test_data("models/" + model);
  std::vector<TestTensor> tensors = tensors_of(folder);
  for (TestTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  const Copy copy(model, tensors);
  return at::equal(copy.states(at::kFloat), plain_states(model, at::kFloat)) ? "equal"
                                                                             : "different";
}

TEST(FoundWeights, AnyPrefixGivesTheVectorsWithoutIt) {
  for (const char* model : {"bert", "distilbert", "mpnet", "t5", "llama", "modernbert"}) {
    for (const char* prefix : {"0.auto_model.", "encoder.", "transformer.", "model.", "module.",
                               "bert.", "auto_model.", "module.0.auto_model."})
      EXPECT_EQ(with_prefix(model, prefix), "equal") << model << " " << prefix;
  }
}

ErrorDetail load_error(const std::string& folder) {
  try {
    const LoadedModel loaded(folder, at::kFloat);
  } catch (const Error& error) {
    return error.detail();
  }
  return {};
}

TEST(FoundWeights, HeadsBesideThePrefixedModelAreLeftOut) {
  std::vector<TestTensor> tensors = tensors_of(test_data("models/bert"));
  for (TestTensor& tensor : tensors) tensor.name = "module.bert." + tensor.name;
  tensors.push_back(testing::zeros_tensor("module.cls.predictions.bias", {4}));
  EXPECT_TRUE(
      at::equal(Copy("bert", tensors).states(at::kFloat), plain_states("bert", at::kFloat)));
  tensors.push_back(testing::zeros_tensor("module.adapter.weight", {4}));
  EXPECT_EQ(load_error(Copy("bert", tensors).path()).code.name(), "model.tensor");
}

TEST(FoundWeights, TwoModelsInOneCheckpointAreRefused) {
  std::vector<TestTensor> tensors;
  for (const char* prefix : {"query_model.", "passage_model."}) {
    for (TestTensor& tensor : tensors_of(test_data("models/bert"))) {
      tensor.name = prefix + tensor.name;
      tensors.push_back(std::move(tensor));
    }
  }
  const ErrorDetail error = load_error(Copy("bert", tensors).path());
  EXPECT_EQ(error.code.name(), "model.tensor");
  EXPECT_THAT(error.what, ::testing::HasSubstr("more than once"));
  EXPECT_THAT(error.found, ::testing::HasSubstr("'passage_model.embeddings.word_embeddings"));
  EXPECT_THAT(error.found, ::testing::HasSubstr("'query_model.embeddings.word_embeddings"));
}

// Gives tensors another type without a change of their values, if `dtype` is wide enough.
void convert(TestTensor& tensor, const char* dtype, at::ScalarType type) {
  const at::ScalarType from = tensor.dtype == "F32" ? at::kFloat : at::kBFloat16;
  const at::Tensor converted =
      at::from_blob(tensor.bytes.data(), tensor.shape, at::TensorOptions().dtype(from)).to(type);
  std::string bytes(static_cast<size_t>(converted.nbytes()), '\0');
  std::memcpy(bytes.data(), converted.data_ptr(), bytes.size());
  tensor.bytes = std::move(bytes);
  tensor.dtype = dtype;
}

TEST(FoundWeights, Float64IsRoundedToFloat32) {
  std::vector<TestTensor> tensors = tensors_of(test_data("models/bert"));
  for (TestTensor& tensor : tensors) convert(tensor, "F64", at::kDouble);
  const Copy copy("bert", tensors);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    EXPECT_TRUE(at::equal(copy.states(type), plain_states("bert", type))) << type;
}

TEST(FoundWeights, Float32NormsBesideBfloat16AreExact) {
  const std::string folder = test_data("models/bert_bfloat16");
  std::vector<TestTensor> tensors = tensors_of(folder);
  for (TestTensor& tensor : tensors) {
    if (tensor.name.find("LayerNorm") != std::string::npos) convert(tensor, "F32", at::kFloat);
  }
  TempDir dir;
  const std::string copy = dir.file("model");
  fs::copy(folder, copy);
  testing::write_bytes(copy + "/model.safetensors", testing::safetensors_bytes(tensors));
  const PackedBatch batch = pack_sequences("bert", all_rows("bert"));
  EXPECT_TRUE(at::equal(LoadedModel(copy, at::kFloat).forward(batch),
                        LoadedModel(folder, at::kFloat).forward(batch)));
}

TEST(FoundWeights, TensorsMayBeginAtAnyByte) {
  const std::string file = testing::safetensors_bytes(tensors_of(test_data("models/bert")));
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  std::string header = file.substr(sizeof length, length);
  header += std::string(5 - header.size() % 4, ' ');  // the data begin at an odd byte
  const Copy copy("bert", {});
  testing::write_bytes(copy.path() + "/model.safetensors",
                       testing::safetensors_raw(header, file.substr(sizeof length + length)));
  EXPECT_TRUE(at::equal(copy.states(at::kFloat), plain_states("bert", at::kFloat)));
}

// If tensors share their bytes, save_model() of safetensors keeps only the name that is first in
// the order of the alphabet. Here this is the name of the head of a language model.
TEST(FoundWeights, SharedTensorsAreFoundUnderTheNameThatWasKept) {
  std::vector<TestTensor> tensors = tensors_of(test_data("models/llama"));
  for (TestTensor& tensor : tensors) {
    tensor.name = tensor.name == "embed_tokens.weight" ? "lm_head.weight" : "model." + tensor.name;
  }
  const std::string file = testing::safetensors_bytes(tensors);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const std::string header = file.substr(sizeof length, length);
  const auto write = [&](const Copy& copy, std::string_view metadata) {
    testing::write_bytes(copy.path() + "/model.safetensors",
                         testing::safetensors_raw(
                             fmt::format(R"({{"__metadata__":{},{})", metadata, header.substr(1)),
                             file.substr(sizeof length + length)));
  };
  const Copy copy("llama", tensors);
  write(copy, R"({"format":"pt","model.embed_tokens.weight":"lm_head.weight"})");
  EXPECT_TRUE(at::equal(copy.states(at::kFloat), plain_states("llama", at::kFloat)));
  write(copy, R"({"format":"pt"})");
  EXPECT_THAT(load_error(copy.path()).what, ::testing::HasSubstr("does not have the tensors"));
}

// The pickled weights of every_module have transposed matrices, parameters and a shared tensor.
TEST(FoundWeights, PickledWeightsGiveTheBitsOfSafetensors) {
  const std::string source = test_data("sentence_transformers/every_module");
  TempDir dir;
  const std::string pickled = dir.file("model");
  fs::copy(source, pickled, fs::copy_options::recursive);
  for (const char* folder : {"", "2_Dense/", "5_LayerNorm/", "6_Dense/", "7_Dense/"})
    fs::remove(fmt::format("{}/{}model.safetensors", pickled, folder));
  fs::copy(test_data("pickled/every_module"), pickled, fs::copy_options::recursive);
  const int64_t vocab_size = open_model_directory(source).vocab_size;
  PackedBatch batch = pack_sequences("bert", {1, 2, 3});
  for (int32_t& id : batch.input_ids) id = static_cast<int32_t>(id % vocab_size);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    EXPECT_TRUE(at::equal(LoadedModel(pickled, type).forward(batch),
                          LoadedModel(source, type).forward(batch)))
        << type;
  }
}

}  // namespace
}  // namespace encode
